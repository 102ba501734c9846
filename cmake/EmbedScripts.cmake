# Writes OUTPUT, a C++ source with the parts of the scripts of DIRECTORY, each once, and for each form of the lock's key the
# scripts that they make, with their SHA-1, under which the server caches them: rights.lua, the form's file, common.lua, holders.lua,
# queue.lua, and the script's own; acquire and release have beside.lua before their own too, and their short ways behind
# common.lua. The scripts as they are sent stand in SCRIPTS_OUT too, those of the plain form; of another form in a directory
# of its name. Lines that are comments are left out: they are half of the text, which goes to a server that does not know it.
# Run with cmake -P.
set(source "#include \"stores/redis/scripts/scripts.hpp\"\n\nnamespace rlock::redis {\n\nnamespace {\n\nusing Parts = std::string_view[];\n\n")
foreach(part rights plain redisson common holders queue beside acquire_short release_short acquire release renew reclaim raise check
        inspect)
  file(READ ${DIRECTORY}/${part}.lua text)
  string(REGEX REPLACE "\n+( *--[^\n]*\n+)*" "\n" text "\n${text}")
  string(SUBSTRING "${text}" 1 -1 text_of_${part})
  string(APPEND source "constexpr std::string_view ${part} = R\"lua(${text_of_${part}})lua\";\n")
endforeach()
set(scripts "")
foreach(form plain redisson)
  set(out ${SCRIPTS_OUT}/${form})
  if(form STREQUAL plain)
    set(out ${SCRIPTS_OUT})
  endif()
  string(APPEND scripts "\nconst Scripts ${form}_scripts{\n")
  foreach(name acquire release renew reclaim raise check inspect)
    set(parts rights ${form} common holders queue ${name})
    if(name MATCHES "^(acquire|release)$")
      set(parts rights ${form} common ${name}_short holders queue beside ${name})
    endif()
    set(text "")
    foreach(part ${parts})
      string(APPEND text "${text_of_${part}}")
    endforeach()
    string(SHA1 sha1 "${text}")
    string(REPLACE ";" ", " parts "${parts}")
    string(APPEND source "constexpr Parts ${form}_${name} = {${parts}};\n")
    string(APPEND scripts "    .${name} = {${form}_${name}, \"${sha1}\"},\n")
    file(WRITE ${out}/${name}.lua "${text}")
  endforeach()
  string(APPEND scripts "};\n")
endforeach()
file(WRITE ${OUTPUT} "${source}\n}  // namespace\n${scripts}\n}  // namespace rlock::redis\n")
