# plimsoll_precompile(TARGET): the headers that nearly every file includes are parsed once; nlohmann-json's, which cost
# every other file half a second, only for the rooms most of whose files need it. Only where PLIMSOLL_PRECOMPILE is on,
# in builds from scratch: ccache, which serves the others, works without it.
set(PLIMSOLL_PRECOMPILED <algorithm> <cstdint> <expected> <filesystem> <functional> <map> <optional> <span> <string>
                         <string_view> <unordered_map> <vector> <fmt/format.h>)
function(plimsoll_precompile target)
  if(NOT PLIMSOLL_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL plimsoll_base)
    target_precompile_headers(plimsoll_base PRIVATE ${PLIMSOLL_PRECOMPILED})
  elseif(target STREQUAL plimsoll_job)
    target_precompile_headers(plimsoll_job PRIVATE ${PLIMSOLL_PRECOMPILED} <nlohmann/json.hpp>)
  elseif(target STREQUAL plimsoll_hardware)
    target_precompile_headers(plimsoll_hardware REUSE_FROM plimsoll_job)
  else()
    target_precompile_headers(${target} REUSE_FROM plimsoll_base)
  endif()
endfunction()

# Rooms that read, write and print, and compute next to nothing: optimizing them fully takes half as long again.
set(PLIMSOLL_LIGHT_ROOMS job hardware measure run report)

# plimsoll_room(NAME [rooms and libraries it uses…])
# One static library plimsoll_NAME per folder under src/, and, where tests are built, one test program
# NAME_test from the *_test.cpp files that stand beside the code.
function(plimsoll_room name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  if(sources)
    add_library(plimsoll_${name} STATIC ${sources})
    target_link_libraries(plimsoll_${name} PUBLIC plimsoll_options ${ARGN})
    plimsoll_precompile(plimsoll_${name})
    if(name IN_LIST PLIMSOLL_LIGHT_ROOMS)
      target_compile_options(plimsoll_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  else()
    add_library(plimsoll_${name} INTERFACE)
    target_link_libraries(plimsoll_${name} INTERFACE plimsoll_options ${ARGN})
  endif()
  if(PLIMSOLL_TESTS AND tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE plimsoll_${name} GTest::gmock GTest::gtest_main)
    add_dependencies(unit_tests ${name}_test)
    target_compile_definitions(${name}_test PRIVATE PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    # Tests that share a server are one test here: each would start a server of its own.
    gtest_discover_tests(${name}_test TEST_FILTER "-Postgres/*" TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 60 PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()
