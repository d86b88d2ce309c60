# CMake functions of Kiln's build: compiler settings, one static library per room, test programs.

# kiln_settings(): defines the interface target kiln_settings, which carries the compiler settings.
function(kiln_settings)
  if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
  endif()
  add_library(kiln_settings INTERFACE)
  target_compile_features(kiln_settings INTERFACE cxx_std_20)
  # Contraction is off: bit-accurate kernels state explicitly where they use a fused multiply-add.
  target_compile_options(kiln_settings INTERFACE -Wall -Wextra -Werror -ffp-contract=off)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 reports overlaps in std::string's operator+ that do not exist (GCC bug 105329).
    target_compile_options(kiln_settings INTERFACE -Wno-restrict)
    if(KILN_PRECOMPILE)
      # Once precompiled, the standard library no longer counts as a system header, so g++ reports
      # such false warnings elsewhere in it, too. They are not errors here; without precompiled
      # headers (the presets debug and bench) they are.
      target_compile_options(kiln_settings
        INTERFACE -Wno-stringop-overflow -Wno-array-bounds -Wno-stringop-overread
        -Wno-error=maybe-uninitialized -Wno-error=free-nonheap-object -Wno-error=use-after-free
        -Wno-error=dangling-pointer)
    endif()
  endif()
  target_include_directories(kiln_settings INTERFACE ${PROJECT_SOURCE_DIR}/src)
  if(KILN_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ takes the joined files for headers, whose types should not use anonymous namespaces.
    target_compile_options(kiln_settings INTERFACE -Wno-subobject-linkage)
  endif()
  if(KILN_SANITISE)
    target_compile_options(kiln_settings
      INTERFACE -fsanitize=${KILN_SANITISE} -fno-omit-frame-pointer)
    target_link_options(kiln_settings INTERFACE -fsanitize=${KILN_SANITISE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ falsely reports uninitialised values in instrumented code of std::regex.
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
    # ccache accepts precompiled headers only if macros and dates in them are declared irrelevant.
    # It finds a file's headers in the compiler's dependency file, without preprocessing the file
    # first.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_DEPEND=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CCACHE_PROGRAM} PARENT_SCOPE)
  endif()
  find_program(MOLD_PROGRAM mold)
  if(MOLD_PROGRAM)
    add_link_options(-fuse-ld=mold)
  endif()
endfunction()

# kiln_precompile(TARGET OWNER): TARGET's sources begin with the precompiled headers of OWNER, which
# must have the same flags. Only headers of other libraries are precompiled, so that no change in
# Kiln recompiles everything. Files that forget an include are noticed by the presets without them
# (KILN_PRECOMPILE, KILN_UNITY), which tools/check_deep builds.
function(kiln_precompile target owner)
  if(NOT KILN_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target}
      PRIVATE <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <cstring> <deque> <filesystem>
      <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream>
      <string> <string_view> <unordered_map> <utility> <variant> <vector> <absl/status/statusor.h>
      <fmt/format.h> ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# kiln_unity(TARGET SOURCES...): joins sources that lie in one folder, at most sixteen each, into
# one translation unit, which compiles a third as long as its files do one by one. Names in
# anonymous namespaces must therefore differ within a folder. Files with compiler options of their
# own stay separate.
function(kiln_unity target)
  if(NOT KILN_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      continue()
    endif()
    get_filename_component(folder ${source} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND in_${folder} ${source})
    list(LENGTH in_${folder} count)
    math(EXPR part "(${count} - 1) / 16")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${part})
  endforeach()
endfunction()

# Creates the library kiln_NAME from src/kiln/FOLDER/*.cc, with RECURSE also from the folders below;
# an interface library if there are no sources.
function(_kiln_library name folder)
  cmake_parse_arguments(ARG "RECURSE" "" "USES" ${ARGN})
  set(glob GLOB)
  if(ARG_RECURSE)
    set(glob GLOB_RECURSE)
  endif()
  file(${glob} sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kiln/${folder}/*.cc)
  if(ARG_RECURSE)
    list(FILTER sources EXCLUDE REGEX "/command/")  # above the family (kiln_family_command)
    get_property(programs GLOBAL PROPERTY kiln_program_folders)
    foreach(program IN LISTS programs)
      list(FILTER sources EXCLUDE REGEX "/targets/${program}/")  # kiln_family_program
    endforeach()
  endif()
  list(FILTER sources EXCLUDE REGEX "/main\\.cc$")
  # Files with kernels for an instruction set name it; callers choose one at run time
  # (support/cpu.h).
  set(avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma
    -mprefer-vector-width=512)
  foreach(source IN LISTS sources)
    if(source MATCHES "_avx[^/]*\\.cc$")
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    if(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
    elseif(source MATCHES "_avx512vnni\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx512}")
    elseif(source MATCHES "_avx512bf16\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${avx512};-mavx512bf16")
    endif()
  endforeach()
  if(sources)
    add_library(kiln_${name} STATIC ${sources})
    target_link_libraries(kiln_${name} PRIVATE kiln_settings)
    kiln_precompile(kiln_${name} kiln_support)
    kiln_unity(kiln_${name} ${sources})
    set(kind PUBLIC)
  else()
    add_library(kiln_${name} INTERFACE)
    set(kind INTERFACE)
  endif()
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(kiln_${name} ${kind} kiln_${used})
  endforeach()
endfunction()

# kiln_room(NAME [FOLDER folder] USES ROOM...): creates the library kiln_NAME from
# src/kiln/NAME/*.cc. USES lists the rooms that it may include; tools/check_layers checks them.
function(kiln_room name)
  cmake_parse_arguments(ARG "" "FOLDER" "" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  _kiln_library(${name} ${ARG_FOLDER} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# kiln_family(NAME USES ROOM...): creates the library of an accelerator family from all sources in
# src/kiln/targets/NAME and its folders.
function(kiln_family name)
  _kiln_library(${name} targets/${name} RECURSE ${ARGN})
  target_link_libraries(kiln_${name} PUBLIC kiln_interface)
  set_property(GLOBAL APPEND PROPERTY kiln_families ${name})
endfunction()

# kiln_family_room(FAMILY/FOLDER [USES FOLDER...]): declares the folders of its family that a folder
# may include; files in the family's own folder may include all of them. tools/check_layers reads
# these lines; the sources belong to the family's library.
function(kiln_family_room folder)
  if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/src/kiln/targets/${folder})
    message(FATAL_ERROR
      "kiln_family_room(${folder}): there is no folder src/kiln/targets/${folder}")
  endif()
endfunction()

# Compiles a source of src/kiln for a library with g++, with the include folders of `libraries`.
function(_kiln_compile_with_gcc library source libraries)
  find_program(GCC_PROGRAM g++ REQUIRED)
  set(path ${PROJECT_SOURCE_DIR}/src/kiln/${source})
  set_source_files_properties(${path} PROPERTIES HEADER_FILE_ONLY ON)
  string(MAKE_C_IDENTIFIER ${source} object)
  set(object ${CMAKE_BINARY_DIR}/generated/${object}.o)
  set(folders)
  foreach(used IN LISTS libraries)
    list(APPEND folders $<TARGET_PROPERTY:${used},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  add_custom_command(OUTPUT ${object}
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${GCC_PROGRAM} -std=c++20 -O2 -fPIC -ffp-contract=off
    -Wall -Wextra -Werror -Wno-restrict -DFMT_SHARED -I${PROJECT_SOURCE_DIR}/src
    "$<$<BOOL:${folders}>:-isystem;$<JOIN:${folders},;-isystem;>>"
    -MD -MF ${object}.d -c ${path} -o ${object}
    DEPENDS ${path} DEPFILE ${object}.d COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(${library} PRIVATE ${object})
endfunction()

# kiln_family_program(FAMILY/FOLDER NAME [LINK lib...] [GCC file...]): creates the program NAME from
# main.cc of a folder of the family, for work that needs libraries that `kiln` does not link, and for
# tests the library kiln_FAMILY_FOLDER from the folder's other sources. Must come before the family's
# kiln_family, which leaves the folder out.
#   GCC  sources whose library headers clang does not compile; g++ compiles them in every build
function(kiln_family_program folder name)
  cmake_parse_arguments(ARG "" "" "LINK;GCC" ${ARGN})
  string(REGEX REPLACE "/.*" "" family ${folder})
  set_property(GLOBAL APPEND PROPERTY kiln_program_folders ${folder})
  string(MAKE_C_IDENTIFIER ${folder} library)
  _kiln_library(${library} targets/${folder} USES ${family})
  target_link_libraries(kiln_${library} PUBLIC ${ARG_LINK})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(file IN LISTS ARG_GCC)
      _kiln_compile_with_gcc(kiln_${library} targets/${folder}/${file} "${ARG_LINK}")
    endforeach()
  endif()
  add_executable(${name} ${PROJECT_SOURCE_DIR}/src/kiln/targets/${folder}/main.cc)
  target_link_libraries(${name} PRIVATE kiln_${library} kiln_settings)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
  install(TARGETS ${name} OPTIONAL)  # `make` builds `kiln` alone
endfunction()

# kiln_family_command(NAME USES ROOM...): the commands that a family adds to `kiln`, from
# targets/NAME/command/*.cc.
function(kiln_family_command name)
  _kiln_library(${name}_command targets/${name}/command ${ARGN})
  target_link_libraries(kiln_${name}_command PUBLIC kiln_${name})
  set_property(GLOBAL APPEND PROPERTY kiln_family_commands ${name})
endfunction()

# kiln_family_commands(): writes the rows of these commands that cli/commands.cc includes.
function(kiln_family_commands)
  get_property(families GLOBAL PROPERTY kiln_family_commands)
  set(rows "// Written by CMake from kiln_family_command().\n")
  foreach(name IN LISTS families)
    string(APPEND rows "KILN_FAMILY_COMMAND(${name})\n")
    target_link_libraries(kiln_cli PUBLIC kiln_${name}_command)
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kiln/cli/family_commands.def
    CONTENT "${rows}" @ONLY)
  target_include_directories(kiln_cli PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()

# kiln_families(): includes src/kiln/targets/*/family.cmake, which call kiln_family and related
# functions.
macro(kiln_families)
  file(GLOB _kiln_family_files
    CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kiln/targets/*/family.cmake)
  foreach(_kiln_family_file IN LISTS _kiln_family_files)
    include(${_kiln_family_file})
  endforeach()
endmacro()

# kiln_family_list(): writes the table of families that targets/registry.cc includes. A list that
# the build writes out cannot lose a row at link time, as registration by static initialiser can.
function(kiln_family_list)
  get_property(families GLOBAL PROPERTY kiln_families)
  set(rows "// Written by CMake from kiln_family_list().\n")
  foreach(name IN LISTS families)
    string(APPEND rows "KILN_FAMILY(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kiln/targets/families.def
    CONTENT "${rows}" @ONLY)
  target_include_directories(kiln_targets PRIVATE ${CMAKE_BINARY_DIR}/generated)
  foreach(name IN LISTS families)
    target_link_libraries(kiln_targets PUBLIC kiln_${name})
  endforeach()
endfunction()

# kiln_rule_list(): writes the table of number formats by rule (numerics/rule_*.cc) that
# numerics/rule.cc includes.
function(kiln_rule_list)
  file(GLOB rules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kiln/numerics/rule_*.cc)
  set(rows "// Written by CMake from kiln_rule_list().\n")
  foreach(rule IN LISTS rules)
    get_filename_component(name ${rule} NAME_WE)
    string(REGEX REPLACE "^rule_" "" name ${name})
    string(APPEND rows "KILN_RULE(${name})\n")
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/kiln/numerics/rules.def
    CONTENT "${rows}" @ONLY)
  target_include_directories(kiln_numerics PRIVATE ${CMAKE_BINARY_DIR}/generated)
endfunction()

# kiln_third_party(ROOM [PUBLIC lib...] [PRIVATE lib...]): links other libraries to a room.
function(kiln_third_party name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  get_target_property(type kiln_${name} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_link_libraries(kiln_${name} INTERFACE ${ARG_PUBLIC})
  else()
    target_link_libraries(kiln_${name} PUBLIC ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE})
  endif()
endfunction()

# kiln_tests(ROOM [OPTIMISED] [FOLDER folder] LINK lib...): creates one GoogleTest program from
# tests/ROOM/*.cc.
function(kiln_tests name)
  cmake_parse_arguments(ARG "OPTIMISED" "FOLDER" "LINK" ${ARGN})
  if(NOT ARG_FOLDER)
    set(ARG_FOLDER ${name})
  endif()
  set(kind test)
  if(ARG_OPTIMISED)
    set(kind optimised_test)
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${ARG_FOLDER}/*.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test
    PRIVATE ${ARG_LINK} kiln_${kind}_support kiln_settings GTest::gmock GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  kiln_precompile(${name}_test kiln_${kind}_headers)
  kiln_unity(${name}_test ${sources})
  # Emitted designs run only short programs in tests, so they build quickly
  # (rtl/testbench/Makefile).
  gtest_discover_tests(${name}_test TEST_PREFIX ${name}. DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 600
    ENVIRONMENT KILN_QUICK_BUILD=1 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
