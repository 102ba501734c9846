# Writes OUTPUT, a C++ source with every script of DIRECTORY behind plain.lua and common.lua, and its SHA-1, under which
# the server caches it. Run with cmake -P.
file(READ ${DIRECTORY}/plain.lua key)
file(READ ${DIRECTORY}/common.lua common)
set(source "#include \"lock/scripts.hpp\"\n\nnamespace rlock::lock {\n")
foreach(name acquire release renew reclaim raise check inspect)
  file(READ ${DIRECTORY}/${name}.lua body)
  set(text "${key}\n${common}\n${body}")
  string(SHA1 sha1 "${text}")
  string(APPEND source "\nconst Script ${name}_script{R\"lua(${text})lua\", \"${sha1}\"};\n")
  file(WRITE ${SCRIPTS_OUT}/${name}.lua "${text}")
endforeach()
string(APPEND source "\n}  // namespace rlock::lock\n")
file(WRITE ${OUTPUT} "${source}")
