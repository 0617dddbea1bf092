# fmt and nlohmann-json: by their packages, or, where those are missing, by their headers alone. plimsoll-engine is built on
# machines where nothing can be installed; PLIMSOLL_HEADERS names a folder that was carried there.
set(PLIMSOLL_HEADERS "" CACHE PATH "Folder that holds fmt/ and nlohmann/, for machines without the packages")
function(plimsoll_header_library target header)
  string(MAKE_C_IDENTIFIER ${header} name)
  find_path(${name}_INCLUDE ${header} HINTS ${PLIMSOLL_HEADERS} REQUIRED)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${${name}_INCLUDE})
endfunction()

find_package(fmt QUIET)
if(NOT fmt_FOUND)
  plimsoll_header_library(fmt::fmt-header-only fmt/format.h)
  target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY=1)
endif()
find_package(nlohmann_json QUIET)
if(NOT nlohmann_json_FOUND)
  plimsoll_header_library(nlohmann_json::nlohmann_json nlohmann/json.hpp)
endif()
