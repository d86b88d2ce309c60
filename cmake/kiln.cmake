# How Kiln builds: one object library a room, one static library and one program in all.

# Compiler settings, carried by the interface target kiln_settings.
function(kiln_settings)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  add_library(kiln_settings INTERFACE)
  target_compile_features(kiln_settings INTERFACE cxx_std_20)
  # Contraction is off because bit-accurate kernels say themselves where a fused multiply-add stands.
  target_compile_options(kiln_settings INTERFACE -Wall -Wextra -Werror -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlaps in std::string's own operator+ that are not there (GCC bug 105329).
    target_compile_options(kiln_settings INTERFACE -Wno-restrict)
    if(KILN_PRECOMPILE)
      # The same there and elsewhere in the standard library, which is no longer seen as the system's once it is precompiled:
      # what the optimiser has to say is no error here. It is one without precompiled headers (the presets debug and bench).
      target_compile_options(kiln_settings INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread
        -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object -Wno-error=use-after-free -Wno-error=dangling-pointer)
    endif()
  endif()
  target_include_directories(kiln_settings INTERFACE ${PROJECT_SOURCE_DIR}/src)
  if(KILN_SANITISE)
    target_compile_options(kiln_settings INTERFACE -fsanitize=${KILN_SANITISE} -fno-omit-frame-pointer)
    target_link_options(kiln_settings INTERFACE -fsanitize=${KILN_SANITISE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Instrumented code of the standard library (std::regex) looks uninitialised to g++ where it is not.
      target_compile_options(kiln_settings INTERFACE -Wno-maybe-uninitialized)
    endif()
    if(KILN_SANITISE MATCHES "undefined")
      target_compile_options(kiln_settings INTERFACE -fno-sanitize-recover=undefined)
    endif()
  endif()
  set(CMAKE_CXX_EXTENSIONS OFF PARENT_SCOPE)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON PARENT_SCOPE)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON PARENT_SCOPE)
  find_program(CCACHE_PROGRAM ccache)
  if(CCACHE_PROGRAM)
    # ccache takes precompiled headers only if told that macros and dates in them do not matter.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM} PARENT_SCOPE)
  endif()
  find_program(MOLD_PROGRAM mold)
  if(MOLD_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_link_options(-fuse-ld=mold)
  endif()
endfunction()

# kiln_precompile(TARGET OWNER): TARGET's sources begin with the precompiled headers of OWNER, whose flags are the same. They are
# headers of other libraries alone, so that no change here compiles everything anew; that files include what they use is seen
# by the presets without them (KILN_PRECOMPILE), the linter's among these.
function(kiln_precompile target owner)
  if(NOT KILN_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstring> <deque> <filesystem>
      <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
      <unordered_map> <utility> <variant> <vector> <absl/status/statusor.h> <fmt/format.h> ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

function(_kiln_library name folder)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kiln/${folder}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  # A file whose kernels need an instruction set says so in its name; callers pick one at run time (support/cpu.h).
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx[^/]*\\.cc$")
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
    elseif(source MATCHES "_avx512vnni\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mfma;-mprefer-vector-width=512")
    elseif(source MATCHES "_avx512bf16\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx512f;-mavx512bw;-mavx512vl;-mavx512dq;-mavx512vnni;-mavx512bf16;-mfma;-mprefer-vector-width=512")
    endif()
  endforeach()
  if(sources)
    add_library(kiln_${name} STATIC ${sources})
    target_link_libraries(kiln_${name} PRIVATE kiln_settings)
    kiln_precompile(kiln_${name} kiln_support)
    set(kind PUBLIC)
  else()
    add_library(kiln_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(kiln_${name} ${kind} kiln_${used})
  endforeach()
endfunction()

# kiln_room(NAME [FOLDER folder] USES ROOM...): the library kiln_NAME from src/kiln/NAME/*.cc.
function(kiln_room name)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  _kiln_library(${name} ${ARG_FOLDER} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# kiln_family(NAME USES ROOM...): an accelerator family, from src/kiln/targets/NAME/*.cc.
function(kiln_family name)
  _kiln_library(${name} targets/${name} ${ARGN})
  target_link_libraries(kiln_${name} PUBLIC kiln_interface)
endfunction()

# kiln_family_list(NAME...): writes the table of families that targets/registry.cc includes. A list that the build
# writes out cannot lose a row at link time, as registration by static initialiser can.
function(kiln_family_list)
  set(rows "// Written by CMake from kiln_family_list().\n")
  foreach(name IN LISTS ARGN)
    string(APPEND rows "KILN_FAMILY(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kiln/targets/families.def CONTENT "${rows}" @ONLY)
  target_include_directories(kiln_targets PRIVATE ${CMAKE_BINARY_DIR}/generated)
  foreach(name IN LISTS ARGN)
    target_link_libraries(kiln_targets PUBLIC kiln_${name})
  endforeach()
endfunction()

# kiln_rule_list(): writes the table of number formats by rule (numerics/rule_*.cc) that numerics/rule.cc includes.
function(kiln_rule_list)
  file(GLOB rules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kiln/numerics/rule_*.cc)
  set(rows "// Written by CMake from kiln_rule_list().\n")
  foreach(rule IN LISTS rules)
    get_filename_component(name ${rule} NAME_WE)
    string(REGEX REPLACE "^rule_" "" name ${name})
    string(APPEND rows "KILN_RULE(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kiln/numerics/rules.def CONTENT "${rows}" @ONLY)
  target_include_directories(kiln_numerics PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()

# kiln_third_party(ROOM [PUBLIC lib...] [PRIVATE lib...])
function(kiln_third_party name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  get_target_property(type kiln_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(kiln_${name} INTERFACE ${ARG_PUBLIC})
  else()
    target_link_libraries(kiln_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  endif()
endfunction()

# kiln_tests(ROOM): one GoogleTest program from tests/ROOM/*_test.cc.
function(kiln_tests name)
  cmake_parse_arguments(ARG "" "FOLDER" "LINK" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${ARG_FOLDER}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE ${ARG_LINK} kiln_test_support kiln_settings GTest::gmock GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  kiln_precompile(${name}_test kiln_test_headers)
  # Emitted designs run short programs here (rtl/testbench/Makefile).
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600
    ENVIRONMENT KILN_QUICK_BUILD=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
