# Writes OUTPUT, a C++ source with every script of DIRECTORY behind common.lua and queue.lua, and its SHA-1, under which
# the server caches it: a set for each form of the lock's key, whose file comes first. The scripts as they are sent stand
# in SCRIPTS_OUT too, those of the plain form; of another form in a directory of its name. Lines that are comments are left out:
# they are half of the text, which is in the binary for each form, and goes to a server that does not know it. Run with cmake
# -P.
file(READ ${DIRECTORY}/common.lua common)
file(READ ${DIRECTORY}/queue.lua queue)
set(source "#include \"lock/scripts.hpp\"\n\nnamespace rlock::lock {\n")
foreach(form plain redisson)
  set(out ${SCRIPTS_OUT}/${form})
  if(form STREQUAL plain)
    set(out ${SCRIPTS_OUT})
  endif()
  file(READ ${DIRECTORY}/${form}.lua key)
  string(APPEND source "\nconst Scripts ${form}_scripts{\n")
  foreach(name acquire release renew reclaim raise check inspect)
    file(READ ${DIRECTORY}/${name}.lua body)
    string(REGEX REPLACE "\n+( *--[^\n]*\n+)*" "\n" text "\n${key}\n${common}\n${queue}\n${body}")
    string(SHA1 sha1 "${text}")
    string(APPEND source "    .${name} = {R\"lua(${text})lua\", \"${sha1}\"},\n")
    file(WRITE ${out}/${name}.lua "${text}")
  endforeach()
  string(APPEND source "};\n")
endforeach()
string(APPEND source "\n}  // namespace rlock::lock\n")
file(WRITE ${OUTPUT} "${source}")
