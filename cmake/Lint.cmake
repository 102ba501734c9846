# The targets lint, which changes nothing, and format, which applies .clang-format. The programs have one version, so that
# they say the same to everybody. A tree that was given away without its hidden files has no rules to lint by.

find_program(CLANG_TIDY NAMES clang-tidy-19)
find_program(CLANG_FORMAT NAMES clang-format-19)
find_program(SHELLCHECK NAMES shellcheck)
find_program(FLAKE8 NAMES flake8)
if(NOT CLANG_TIDY OR NOT CLANG_FORMAT OR NOT SHELLCHECK OR NOT FLAKE8 OR NOT EXISTS ${CMAKE_SOURCE_DIR}/.clang-tidy)
  add_custom_target(lint
    COMMAND ${CMAKE_COMMAND} -E echo "lint: run packaging/install-deps.sh lint, then configure again"
    COMMAND ${CMAKE_COMMAND} -E false VERBATIM)
  return()
endif()

set(relative CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR})
file(GLOB_RECURSE lint_cpp ${relative} src/*.cpp src/*.hpp tests/*.cpp tests/*.hpp)
file(GLOB_RECURSE lint_bats ${relative} tests/*.bats)
file(GLOB_RECURSE lint_shell ${relative} packaging/*.sh tests/*.sh tests/*.bash)

add_custom_target(lint)
function(rlock_lint name)
  add_custom_target(lint_${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} COMMENT "lint: ${name}" VERBATIM)
  add_dependencies(lint lint_${name})
endfunction()

rlock_lint(format ${CLANG_FORMAT} --dry-run --Werror ${lint_cpp})
rlock_lint(shell ${SHELLCHECK} -x ${lint_shell} .ci/run)
# Shellcheck cannot see what `load helper` defines, and which variables helper.bash reads (SC2154, SC2034). printf '%99s'
# without an argument is how the tests make long texts (SC2183).
rlock_lint(bats ${SHELLCHECK} --shell=bats --severity=warning --exclude=SC2154,SC2034,SC2183 ${lint_bats})
# Conditions that cannot fail their test.
rlock_lint(errexit python3 -B tests/tools/errexit.py ${lint_bats})
rlock_lint(python ${FLAKE8} --max-line-length=128 tests packaging)

add_custom_target(format COMMAND ${CLANG_FORMAT} -i ${lint_cpp} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR} VERBATIM)

# The flags are those of g++, and so is the standard library, which calls what it has deprecated. Other rules in .clang-tidy
# are another command, so that everything is looked at again.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/.clang-tidy)
file(MD5 ${CMAKE_SOURCE_DIR}/.clang-tidy tidy_rules)
set(tidy ${CLANG_TIDY} --quiet --warnings-as-errors=* --extra-arg=-Wno-unknown-warning-option
    --extra-arg=-Wno-deprecated-declarations --extra-arg=-DTIDY_RULES_${tidy_rules})

# Compiles all once more, with clang-tidy beside the compiler: so each file has a command of its own, which runs again only
# when the file, a header that it includes, or a rule has changed.
file(GLOB_RECURSE tidy_sources CONFIGURE_DEPENDS src/*.cpp)
add_library(tidy OBJECT EXCLUDE_FROM_ALL ${tidy_sources})
target_include_directories(tidy PRIVATE src ${CMAKE_BINARY_DIR}/generated)
target_include_directories(tidy SYSTEM PRIVATE ${HIREDIS_INCLUDE_DIRS} ${cli11_includes})
set_target_properties(tidy PROPERTIES CXX_CLANG_TIDY "${tidy}")
add_dependencies(lint tidy)
