# What each of the three ways below to build in less time earns is in docs/building.md.

# plimsoll_precompile(TARGET KIND): the headers that nearly every file includes are parsed once per KIND, which the first
# target of it compiles: `plain`; `json`, for rooms many of whose files need nlohmann-json's, which costs the others
# little; `torch`; `test`. Where PLIMSOLL_PRECOMPILE is on.
set(PLIMSOLL_PRECOMPILED <algorithm> <cstdint> <expected> <filesystem> <functional> <map> <optional> <span> <string>
                         <string_view> <unordered_map> <vector> <fmt/format.h>)
set(PLIMSOLL_PRECOMPILED_json <nlohmann/json.hpp>)
set(PLIMSOLL_PRECOMPILED_torch <ATen/core/Tensor.h>)
set(PLIMSOLL_PRECOMPILED_test <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
function(plimsoll_precompile target kind)
  if(NOT PLIMSOLL_PRECOMPILE)
    return()
  endif()
  get_property(first GLOBAL PROPERTY plimsoll_precompiled_${kind})
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE ${PLIMSOLL_PRECOMPILED} ${PLIMSOLL_PRECOMPILED_${kind}})
    set_property(GLOBAL PROPERTY plimsoll_precompiled_${kind} ${target})
  endif()
endfunction()
# Of one level of optimization (below): g++ 12 breaks down at -O2 with these headers precompiled at -O1.
set(PLIMSOLL_JSON_ROOMS job queue report run)
set(PLIMSOLL_TORCH_ROOMS engine)

# Rooms that read, write and print, and compute next to nothing: optimizing them fully takes a quarter longer.
set(PLIMSOLL_LIGHT_ROOMS cuda diagnose forward job measure queue report run)

# plimsoll_together(TARGET): where PLIMSOLL_TOGETHER is on, sources whose names begin alike are compiled together, in five
# groups: each header is read and each template made once for them, so that all takes half the time from scratch. Two files
# of a group cannot give one name to what each keeps to itself: the compiler says so, and one name is made more telling.
# The build with AddressSanitizer takes every file alone, so that a header of the project that it forgets is found.
set(PLIMSOLL_ROOMS_APART probe)  # whose files share names by design
function(plimsoll_together target)
  if(NOT PLIMSOLL_TOGETHER)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # A class that uses a type of its own source file: as sound as alone, since no two sources share it.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^${CMAKE_BINARY_DIR}/")  # what is written when it is built: clang-tidy has none of it
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME)
    foreach(letters a-c d-h i-o p-r s-z)
      if(name MATCHES "^[${letters}]")
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${letters})
      endif()
    endforeach()
  endforeach()
endfunction()

# plimsoll_test_program(TARGET): a test computes next to nothing itself, and optimizing it takes longer than all the rest.
function(plimsoll_test_program target)
  target_compile_options(${target} PRIVATE -O0)
  target_compile_definitions(${target} PRIVATE PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  plimsoll_precompile(${target} test)
endfunction()

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
    if(name IN_LIST PLIMSOLL_JSON_ROOMS)
      plimsoll_precompile(plimsoll_${name} json)
    elseif(name IN_LIST PLIMSOLL_TORCH_ROOMS)
      plimsoll_precompile(plimsoll_${name} torch)
    else()
      plimsoll_precompile(plimsoll_${name} plain)
    endif()
    if(NOT name IN_LIST PLIMSOLL_ROOMS_APART)
      plimsoll_together(plimsoll_${name})
    endif()
    if(name IN_LIST PLIMSOLL_LIGHT_ROOMS)
      target_compile_options(plimsoll_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    endif()
  else()
    add_library(plimsoll_${name} INTERFACE)
    target_link_libraries(plimsoll_${name} INTERFACE plimsoll_options ${ARGN})
  endif()
  if(PLIMSOLL_TESTS AND tests AND (NOT PLIMSOLL_TEST_ROOMS OR name IN_LIST PLIMSOLL_TEST_ROOMS))
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE plimsoll_${name} GTest::gmock GTest::gtest_main)
    if(name IN_LIST PLIMSOLL_TORCH_ROOMS)  # whose flags are others
      target_compile_options(${name}_test PRIVATE -O0)
      target_compile_definitions(${name}_test PRIVATE PLIMSOLL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    else()
      plimsoll_test_program(${name}_test)
    endif()
    add_dependencies(unit_tests ${name}_test)
    # Tests that share a server are one test here: each would start a server of its own.
    gtest_discover_tests(${name}_test TEST_FILTER "-Postgres/*" TEST_PREFIX "${name}." DISCOVERY_TIMEOUT 600 PROPERTIES LABELS unit TIMEOUT 1800)
  endif()
endfunction()
