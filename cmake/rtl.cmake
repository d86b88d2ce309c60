# CMake functions of the RTL tests: Verilated models of modules in rtl/, GoogleTest programs that
# drive them, and a lint test and an elaboration test for every module.
#
#   kiln_rtl_model(small_fifo TOP kiln_fifo PARAMETERS WIDTH=8 DEPTH=3)
#                                         creates the class Vsmall_fifo in Vsmall_fifo.h
#   kiln_rtl_test(kiln_fifo TEST kiln_fifo_test.cc MODELS small_fifo ...)
#                                         creates the program rtl_kiln_fifo_test
#
# Modules are found by name (file name = module name); packages are listed in order in
# rtl/packages.f, and then in the packages.f of folders of rtl/.

find_program(VERILATOR_PROGRAM verilator REQUIRED)
find_program(YOSYS_PROGRAM yosys REQUIRED)
find_program(MAKE_PROGRAM make REQUIRED)
# Models compiled by clang 19 run 3 to 6 times as fast as those of g++ 12. The objects link with
# g++'s.
find_program(RTL_CXX_COMPILER clang++-19 REQUIRED)
execute_process(COMMAND ${VERILATOR_PROGRAM} --getenv VERILATOR_ROOT OUTPUT_VARIABLE VERILATOR_ROOT
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

set(KILN_RTL ${PROJECT_SOURCE_DIR}/rtl)
file(GLOB_RECURSE KILN_RTL_FILES CONFIGURE_DEPENDS ${KILN_RTL}/*.sv)
set(KILN_RTL_MODULES ${KILN_RTL_FILES})
list(FILTER KILN_RTL_MODULES EXCLUDE REGEX "_pkg\\.sv$")
set(KILN_RTL_FOLDERS ${KILN_RTL_FILES})
list(TRANSFORM KILN_RTL_FOLDERS REPLACE "/[^/]*$" "")
list(REMOVE_DUPLICATES KILN_RTL_FOLDERS)
file(GLOB package_lists CONFIGURE_DEPENDS ${KILN_RTL}/*/packages.f)
list(PREPEND package_lists ${KILN_RTL}/packages.f)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${package_lists})
foreach(package_list IN LISTS package_lists)
  file(STRINGS ${package_list} packages REGEX "^[^#]")
  get_filename_component(folder ${package_list} DIRECTORY)
  list(TRANSFORM packages PREPEND ${folder}/)
  list(APPEND KILN_RTL_PACKAGES ${packages})
endforeach()

# Arguments of every Verilator run. Warnings are errors; rtl/waivers.vlt holds the few waivers with
# their reasons.
set(KILN_VERILATOR_SOURCES ${KILN_RTL}/waivers.vlt ${KILN_RTL_PACKAGES})
set(KILN_VERILATOR_FLAGS -Wall)
foreach(folder IN LISTS KILN_RTL_FOLDERS)
  list(APPEND KILN_VERILATOR_FLAGS -y ${folder})
  list(APPEND KILN_YOSYS_FOLDERS -libdir ${folder})
endforeach()

# For debugging: each Simulation writes its waveform as $KILN_RTL_WAVES/<test>.<number>.fst, which
# gtkwave reads.
option(KILN_RTL_TRACE "RTL tests write waveforms; models compile and run several times as long" OFF)
set(KILN_VERILATOR_TRACE $<$<BOOL:${KILN_RTL_TRACE}>:--trace-fst>)
option(KILN_ALL_GATES "Run the test vectors of all units on netlists too, which takes hours" OFF)

# Verilator joins all logic of a clock edge in one function, and the time of clang's register
# allocator grows faster than a function. In functions of at most 200 statements a whole machine
# compiles in half the time (15 s of processor time instead of 30 s).
set(KILN_VERILATOR_SPLIT --output-split-cfuncs 200)

# The run-time library of all models. Like the models, it is built without sanitisers.
add_library(kiln_verilated STATIC ${VERILATOR_ROOT}/include/verilated.cpp
  ${VERILATOR_ROOT}/include/verilated_threads.cpp)
if(KILN_RTL_TRACE)
  target_sources(kiln_verilated PRIVATE ${VERILATOR_ROOT}/include/verilated_fst_c.cpp)
  target_link_libraries(kiln_verilated PUBLIC ZLIB::ZLIB)
endif()
target_include_directories(kiln_verilated SYSTEM
  PUBLIC ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
target_compile_definitions(kiln_verilated
  PUBLIC VERILATOR=1 VM_COVERAGE=0 VM_SC=0 VM_TRACE=$<BOOL:${KILN_RTL_TRACE}>
  VM_TRACE_FST=$<BOOL:${KILN_RTL_TRACE}> VM_TRACE_VCD=0)
target_compile_options(kiln_verilated PRIVATE -w)
target_compile_features(kiln_verilated PUBLIC cxx_std_17)
find_package(Threads REQUIRED)
target_link_libraries(kiln_verilated PUBLIC Threads::Threads atomic)

# Precompiles verilated.h once for all models, with those flags of Verilator's makefile that affect
# a header. It has no time stamps, so that it is identical in every build folder (for ccache).
set(KILN_VERILATED_PCH ${CMAKE_BINARY_DIR}/rtl/verilated.h.pch)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/rtl)
add_custom_command(OUTPUT ${KILN_VERILATED_PCH}
  COMMAND ${RTL_CXX_COMPILER} -x c++-header -I${VERILATOR_ROOT}/include
    -I${VERILATOR_ROOT}/include/vltstd -DVM_COVERAGE=0 -DVM_SC=0
    -DVM_TRACE=$<BOOL:${KILN_RTL_TRACE}> -DVM_TRACE_FST=$<BOOL:${KILN_RTL_TRACE}> -DVM_TRACE_VCD=0
    -faligned-new -fcf-protection=none -w -O1 -Xclang -fno-pch-timestamp
    ${VERILATOR_ROOT}/include/verilated.h -o ${KILN_VERILATED_PCH}
  DEPENDS ${VERILATOR_ROOT}/include/verilated.h COMMENT "Precompiling verilated.h" VERBATIM)
add_custom_target(kiln_verilated_pch DEPENDS ${KILN_VERILATED_PCH})
list(JOIN CMAKE_CXX_COMPILER_LAUNCHER " " KILN_RTL_LAUNCHER)

# kiln_rtl_model(NAME TOP module [PARAMETERS A=1 ...] [SOURCES file...] [FLAGS flag...] [NETLIST]
# [BRIEF]): creates the library rtl_model_NAME with the class VNAME in VNAME.h. SOURCES are files
# that cannot be found by a module's name (benches of a test); FLAGS are passed to Verilator.
# Assertions and the AXI checkers are enabled; registers without a reset have random initial values
# (Simulation in tests/rtl/support.h).
#
# NETLIST: the model is made from Yosys' elaboration instead of the sources (processes become
# registers and multiplexers, written out as Verilog). Running the same test on both models shows
# that the two tools interpret the sources alike. The netlist has no assertions and no checkers.
#
# BRIEF: for large models that are simulated briefly. They are compiled without optimisation, which
# would take several times as long as the test.
function(kiln_rtl_model name)
  cmake_parse_arguments(ARG "NETLIST;BRIEF" "TOP" "PARAMETERS;SOURCES;FLAGS" ${ARGN})
  set_property(GLOBAL PROPERTY kiln_rtl_model_${name} ${ARG_TOP} ${ARG_PARAMETERS})
  set(folder ${CMAKE_BINARY_DIR}/rtl/${name})
  set(archive ${folder}/V${name}__ALL.a)
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ REGEX "^[^/]")
  set(top_file ${KILN_RTL_MODULES} ${ARG_SOURCES})
  list(FILTER top_file INCLUDE REGEX "/${ARG_TOP}\\.sv$")
  if(NOT top_file)
    message(FATAL_ERROR "kiln_rtl_model(${name}): no file ${ARG_TOP}.sv in rtl/ or among SOURCES")
  endif()
  list(APPEND ARG_SOURCES ${top_file})
  list(REMOVE_DUPLICATES ARG_SOURCES)
  file(MAKE_DIRECTORY ${folder})
  if(ARG_NETLIST)
    set(netlist ${folder}/netlist.v)
    list(JOIN KILN_RTL_PACKAGES " " packages)
    list(JOIN ARG_SOURCES " " sources)
    list(JOIN KILN_YOSYS_FOLDERS " " folders)
    list(TRANSFORM ARG_PARAMETERS REPLACE "(.*)=(.*)" "-set \\1 \\2")
    list(JOIN ARG_PARAMETERS " " parameters)
    if(parameters)
      set(parameters "chparam ${parameters} ${ARG_TOP};")
    endif()
    string(CONCAT script "read_verilog -sv ${packages} ${sources}; ${parameters} "
      "hierarchy -check ${folders} -top ${ARG_TOP}; rename -top ${ARG_TOP}; proc; check -assert; "
      "write_verilog -noattr ${netlist}")
    add_custom_command(OUTPUT ${netlist}
      COMMAND ${YOSYS_PROGRAM} -q -E ${folder}/netlist.d -p "${script}"
      DEPENDS ${KILN_RTL_PACKAGES} ${ARG_SOURCES} DEPFILE ${folder}/netlist.d
      COMMENT "Elaborating ${name} (${ARG_TOP})" VERBATIM)
    set(sources ${netlist})
    set(flags -Wno-lint -Wno-fatal ${ARG_FLAGS})
  else()
    set(sources ${KILN_VERILATOR_SOURCES} ${ARG_SOURCES})
    list(TRANSFORM ARG_PARAMETERS PREPEND -G)
    set(flags ${KILN_VERILATOR_FLAGS} --assert -DKILN_AXI_CHECKER ${ARG_PARAMETERS} ${ARG_FLAGS})
  endif()
  set(join_model ${PROJECT_SOURCE_DIR}/cmake/join_model)
  # The header is a byproduct, so that tests are recompiled in the same build that changes it.
  add_custom_command(OUTPUT ${archive} BYPRODUCTS ${folder}/V${name}.h
    COMMAND ${VERILATOR_PROGRAM} --cc -O3 ${KILN_VERILATOR_SPLIT} --x-assign unique
      --x-initial unique ${KILN_VERILATOR_TRACE} -CFLAGS -w --Mdir ${folder} --prefix V${name}
      --top-module ${ARG_TOP} ${flags} ${sources}
    COMMAND sed -e "s|^[^:]*:|${archive}:|" ${folder}/V${name}__ver.d > ${folder}/depends.d
    COMMAND ${MAKE_PROGRAM} -s --no-print-directory -C ${folder} -f V${name}.mk V${name}__ALL.a
      "CXX=${KILN_RTL_LAUNCHER} ${RTL_CXX_COMPILER}" LINK=${RTL_CXX_COMPILER} VM_PARALLEL_BUILDS=0
      "VERILATOR_INCLUDER=${join_model} $<$<BOOL:${ARG_BRIEF}>:unoptimised>"
      "OPT_FAST=-O1 -include-pch ${KILN_VERILATED_PCH}" CFG_CXXFLAGS_PCH=
    DEPENDS ${sources} ${KILN_VERILATED_PCH} ${join_model} DEPFILE ${folder}/depends.d
    COMMENT "Verilating ${name} (${ARG_TOP})" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(rtl_model_${name}_archive DEPENDS ${archive})
  add_library(rtl_model_${name} INTERFACE)
  add_dependencies(rtl_model_${name} rtl_model_${name}_archive)
  target_include_directories(rtl_model_${name} SYSTEM INTERFACE ${folder})
  target_link_libraries(rtl_model_${name} INTERFACE ${archive} kiln_verilated)
endfunction()

# kiln_add_rtl_test(KIND GROUP NAME FILTER TEST file... MODELS model... [LINK library...]): creates
# the GoogleTest program KIND_NAME_test with the models KIND_model_MODEL. Its tests, those of the
# filter if there is one, are named GROUP.TEST.
function(kiln_add_rtl_test kind group name filter)
  cmake_parse_arguments(ARG "" "" "TEST;MODELS;LINK" ${ARGN})
  set(program ${kind}_${name}_test)
  add_executable(${program} ${ARG_TEST})
  list(TRANSFORM ARG_MODELS PREPEND ${kind}_model_)
  target_link_libraries(${program}
    PRIVATE ${ARG_LINK} ${ARG_MODELS} kiln_support kiln_optimised_test_support kiln_settings
    GTest::gmock GTest::gtest_main)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  kiln_precompile(${program} kiln_optimised_test_headers)
  if(filter)
    set(filter TEST_FILTER ${filter})
  endif()
  gtest_discover_tests(${program} TEST_PREFIX ${group}. DISCOVERY_TIMEOUT 120 ${filter}
    PROPERTIES TIMEOUT 600
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# kiln_rtl_test(NAME TEST file... MODELS model... [LINK library...]): creates the GoogleTest program
# rtl_NAME_test. With KILN_ALL_GATES also gate_NAME_test (kiln_rtl_gate_test), if all its models are
# modules of rtl/, and none is a whole machine (kiln_FAMILY).
function(kiln_rtl_test name)
  set_property(GLOBAL PROPERTY kiln_rtl_test_${name} ${ARGN})
  kiln_add_rtl_test(rtl rtl ${name} "" ${ARGN})
  if(NOT KILN_ALL_GATES)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "TEST;MODELS;LINK" ${ARGN})
  get_filename_component(family ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  foreach(model IN LISTS ARG_MODELS)
    get_property(top GLOBAL PROPERTY kiln_rtl_model_${model})
    list(GET top 0 top)
    set(file ${KILN_RTL_MODULES})
    list(FILTER file INCLUDE REGEX "/${top}\\.sv$")
    if(NOT file OR top STREQUAL "kiln_${family}")
      return()
    endif()
  endforeach()
  # At the end of the folder, after its own calls of kiln_rtl_gate_test.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL kiln_rtl_gate_test ${name})")
endfunction()

# kiln_rtl_gate_model(NAME): creates the library gate_model_NAME, with the class of the model NAME,
# whose module must be one of rtl/, made from the netlist of standard cells that `kiln synth` maps.
# It has no assertions. Verilator 5.006 folds trees of exclusive ors wrongly, so that this is off.
function(kiln_rtl_gate_model name)
  if(TARGET gate_model_${name})
    return()
  endif()
  get_property(parameters GLOBAL PROPERTY kiln_rtl_model_${name})
  list(POP_FRONT parameters top)
  list(JOIN parameters "," parameters)
  set(folder ${CMAKE_BINARY_DIR}/rtl/gates/${name})
  set(archive ${folder}/V${name}__ALL.a)
  set(netlist ${folder}/cells.v ${folder}/memories.v ${folder}/netlist.v)
  set(mapped ${netlist})
  list(TRANSFORM mapped REPLACE "/([^/]*)$" "/mapped/\\1")
  file(MAKE_DIRECTORY ${folder}/mapped)
  # Files that are the same as before are left alone, so that another program maps without Verilator
  # having to run again.
  add_custom_command(OUTPUT ${netlist}
    COMMAND ${CMAKE_COMMAND} -E env KILN_RTL=${KILN_RTL} $<TARGET_FILE:kiln> -q synth
      --module ${top} --parameters "${parameters}" --no-timing --keep ${folder}/mapped
      > ${folder}/areas.txt
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${mapped} ${folder}
    DEPENDS kiln ${KILN_RTL_FILES} COMMENT "Mapping ${name} (${top})" VERBATIM)
  set(join_model ${PROJECT_SOURCE_DIR}/cmake/join_model)
  add_custom_command(OUTPUT ${archive} BYPRODUCTS ${folder}/V${name}.h
    COMMAND ${VERILATOR_PROGRAM} --cc -O3 -fno-const-bit-op-tree --x-assign unique
      --x-initial unique ${KILN_VERILATOR_TRACE} -CFLAGS -w --Mdir ${folder} --prefix V${name}
      --top-module ${top} -Wno-lint -Wno-style -Wno-fatal ${KILN_RTL}/memory/kiln_ram_1w.sv
      ${netlist}
    COMMAND ${MAKE_PROGRAM} -s --no-print-directory -C ${folder} -f V${name}.mk V${name}__ALL.a
      "CXX=${KILN_RTL_LAUNCHER} ${RTL_CXX_COMPILER}" LINK=${RTL_CXX_COMPILER} VM_PARALLEL_BUILDS=0
      "VERILATOR_INCLUDER=${join_model} unoptimised"
      "OPT_FAST=-O1 -include-pch ${KILN_VERILATED_PCH}" CFG_CXXFLAGS_PCH=
    DEPENDS ${netlist} ${KILN_RTL}/memory/kiln_ram_1w.sv ${KILN_VERILATED_PCH} ${join_model}
    COMMENT "Verilating the netlist of ${name} (${top})" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(gate_model_${name}_archive DEPENDS ${archive})
  add_library(gate_model_${name} INTERFACE)
  add_dependencies(gate_model_${name} gate_model_${name}_archive)
  target_include_directories(gate_model_${name} SYSTEM INTERFACE ${folder})
  target_link_libraries(gate_model_${name} INTERFACE ${archive} kiln_verilated)
endfunction()

# kiln_rtl_gate_test(NAME [WITHOUT test...]): creates the program gate_NAME_test, the test
# rtl_NAME_test with netlists of standard cells as its models: the same vectors, the same expected
# values. Call it after kiln_rtl_test(NAME), in the same folder. WITHOUT: tests that expect an
# assertion to fail.
function(kiln_rtl_gate_test name)
  if(TARGET gate_${name}_test)
    return()
  endif()
  cmake_parse_arguments(GATE "" "" "WITHOUT" ${ARGN})
  get_property(arguments GLOBAL PROPERTY kiln_rtl_test_${name})
  cmake_parse_arguments(ARG "" "" "TEST;MODELS;LINK" ${arguments})
  foreach(model IN LISTS ARG_MODELS)
    kiln_rtl_gate_model(${model})
  endforeach()
  set(filter "")
  if(GATE_WITHOUT)
    list(JOIN GATE_WITHOUT ":" filter)
    set(filter "-${filter}")
  endif()
  kiln_add_rtl_test(gate gates ${name} "${filter}" ${arguments})
endfunction()

# kiln_rtl_elaborate_within(WHOLE PART...): Yosys elaborates the modules PART, which take long, only
# within the module WHOLE. Called by the unit of these modules, before kiln_rtl_check_modules.
function(kiln_rtl_elaborate_within whole)
  set_property(GLOBAL APPEND PROPERTY kiln_rtl_parts ${ARGN})
  set_property(GLOBAL APPEND PROPERTY kiln_rtl_parts_of_${whole} ${ARGN})
endfunction()

# kiln_rtl_check_modules(): adds two tests per module, with default parameters. Verilator's lint
# must not warn. Yosys' elaboration must not find a problem (`check`), an undeclared name, or a port
# of another width than its connection (Yosys 0.23 ignores casts inside concatenations). Yosys
# checks the parts of kiln_rtl_elaborate_within in their whole, and its test fails if one is missing
# there.
function(kiln_rtl_check_modules)
  get_property(parts GLOBAL PROPERTY kiln_rtl_parts)
  list(JOIN KILN_RTL_PACKAGES " " packages)
  list(JOIN KILN_YOSYS_FOLDERS " " folders)
  foreach(file IN LISTS KILN_RTL_MODULES)
    get_filename_component(module ${file} NAME_WE)
    add_test(NAME rtl.lint.${module}
      COMMAND ${VERILATOR_PROGRAM} --lint-only --assert ${KILN_VERILATOR_FLAGS} --top-module
      ${module} ${KILN_VERILATOR_SOURCES} ${file})
    set_tests_properties(rtl.lint.${module} PROPERTIES TIMEOUT 120)
    if(module IN_LIST parts)
      continue()
    endif()
    string(CONCAT script "read_verilog -sv ${packages} ${file}; "
      "hierarchy -check ${folders} -top ${module}; proc; check -assert")
    get_property(own_parts GLOBAL PROPERTY kiln_rtl_parts_of_${module})
    foreach(part IN LISTS own_parts)
      string(APPEND script "; select -assert-any *${part}")
    endforeach()
    add_test(NAME rtl.yosys.${module} COMMAND ${YOSYS_PROGRAM} -q -p "${script}")
    set_tests_properties(rtl.yosys.${module} PROPERTIES TIMEOUT 900
      FAIL_REGULAR_EXPRESSION "implicitly declared;Resizing cell port;ERROR")
  endforeach()
endfunction()
