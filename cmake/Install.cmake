# What `cmake --install` puts where, and the target uninstall. DESTDIR, --prefix and the variables of GNUInstallDirs count.
include(GNUInstallDirs)

# fish, bash-completion and zsh as most build it look here. Debian's zsh does so below /usr/local only: below /usr it looks in
# vendor-completions, which is for packages (packaging/debian.sh says so).
set(RLOCK_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where zsh looks for completions")

# Whatever the umask of who cloned.
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(executable ${readable} OWNER_EXECUTE GROUP_EXECUTE WORLD_EXECUTE)

if(TARGET rlock)
  install(TARGETS rlock RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()

file(GLOB pages CONFIGURE_DEPENDS man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT data)
file(GLOB pages CONFIGURE_DEPENDS man/*.5)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT data)

install(FILES completions/rlock.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME rlock
        COMPONENT data)
install(FILES completions/_rlock DESTINATION ${RLOCK_ZSH_DIR} COMPONENT data)
install(FILES completions/rlock.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT data)

# systemd looks here below /usr and /usr/local. It is /lib whatever the libraries' directory is called.
install(FILES packaging/rlock@.service DESTINATION lib/systemd/system COMPONENT data)

# All that the README links to, where its links lead.
install(FILES README.md CHANGELOG.md LICENSE ARCHITECTURE.md CONTRIBUTING.md SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT data)
install(FILES packaging/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging COMPONENT data)
install(FILES tests/PROOFS.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests COMPONENT data)
install(FILES tests/bench/RESULTS.md tests/bench/SCALE.md tests/bench/TABLE.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/tests/bench COMPONENT data)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILE_PERMISSIONS ${readable} COMPONENT data)
# The configuration among them is an example too: /etc/rlock.conf is the administrator's.
install(DIRECTORY packaging/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} FILE_PERMISSIONS ${readable} COMPONENT data
        PATTERN *.sh PERMISSIONS ${executable})
# Where distributions have them, and by a link where the documents say.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/generated)
file(CREATE_LINK ../examples ${CMAKE_BINARY_DIR}/generated/examples SYMBOLIC)
install(FILES ${CMAKE_BINARY_DIR}/generated/examples DESTINATION ${CMAKE_INSTALL_DOCDIR}/packaging COMPONENT data)

file(CONFIGURE OUTPUT uninstall.cmake @ONLY CONTENT [=[
# Removes what the last `cmake --install` of this build installed, and the directories that are rlock's own.
set(manifest "@CMAKE_BINARY_DIR@/install_manifest.txt")
if(NOT EXISTS "${manifest}")
  message(FATAL_ERROR "nothing to uninstall: there is no ${manifest}")
endif()
# A line at a time: a list would be split at each ; and, behind a [ in the path, nowhere.
file(READ "${manifest}" files)
if(NOT files MATCHES "^(/[^\n]*\n*)*$")
  message(FATAL_ERROR "nothing removed: ${manifest} has names that are not absolute; is there a ; in the prefix?")
endif()
while(files MATCHES "^\n*([^\n]+)")
  set(file "${CMAKE_MATCH_1}")
  string(LENGTH "${CMAKE_MATCH_0}" length)
  string(SUBSTRING "${files}" ${length} -1 files)
  file(REMOVE "$ENV{DESTDIR}${file}")
  message("-- Removed: $ENV{DESTDIR}${file}")
  # As far as they are empty by now.
  cmake_path(GET file PARENT_PATH directory)
  while(directory MATCHES "/rlock(/|$)")
    execute_process(COMMAND rmdir -- "$ENV{DESTDIR}${directory}" ERROR_QUIET)
    cmake_path(GET directory PARENT_PATH directory)
  endwhile()
endwhile()
file(REMOVE "${manifest}")
]=])
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -P ${CMAKE_BINARY_DIR}/uninstall.cmake VERBATIM)
