# plimsoll_embed(TARGET NAME GLOB…): compiles the files that match into TARGET as
# `std::span<const EmbeddedFile> NAME()` (see base/embedded.hpp), so that the program needs no data folder.
function(plimsoll_embed target name)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(SORT files)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${files}" -DNAME=${name} -DOUT=${out} -P ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

# plimsoll_embed_calibrations(TARGET GLOB…): compiles calibrations into TARGET as `embedded_calibrations()` (see
# hardware/catalogue.hpp), their points as a table of numbers.
function(plimsoll_embed_calibrations target)
  file(GLOB files CONFIGURE_DEPENDS ${ARGN})
  list(SORT files)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_calibrations.cpp)
  add_executable(embed_calibrations ${CMAKE_SOURCE_DIR}/cmake/embed_calibrations.cpp)
  target_link_libraries(embed_calibrations PRIVATE plimsoll_options nlohmann_json::nlohmann_json)
  add_custom_command(OUTPUT ${out} COMMAND embed_calibrations ${out} ${files} DEPENDS embed_calibrations ${files} VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()

# plimsoll_embed_counters(TARGET TABLE.csv): compiles what was counted of kernels into TARGET as `counted_kernels()` (see
# estimate/profile/demand_table.hpp), a table of numbers.
function(plimsoll_embed_counters target table)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_counters.cpp)
  add_executable(embed_counters ${CMAKE_SOURCE_DIR}/cmake/embed_counters.cpp)
  target_link_libraries(embed_counters PRIVATE plimsoll_options plimsoll_hardware)
  add_custom_command(OUTPUT ${out} COMMAND embed_counters ${out} ${table} DEPENDS embed_counters ${table} VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
