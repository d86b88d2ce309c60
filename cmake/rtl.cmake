# How the RTL is tested: models of rtl/ modules made by Verilator, GoogleTest programs that drive them, and a lint and an
# elaboration test of every module.
#
#   kiln_rtl_model(small_fifo TOP kiln_fifo PARAMETERS WIDTH=8 DEPTH=3)        header Vsmall_fifo.h, class Vsmall_fifo
#   kiln_rtl_test(kiln_fifo TEST kiln_fifo_test.cc MODELS small_fifo ...)      program rtl_kiln_fifo_test
#
# Modules are found by their name (file name = module name); packages by rtl/packages.f, in its order.

find_program(VERILATOR_PROGRAM verilator REQUIRED)
find_program(YOSYS_PROGRAM yosys REQUIRED)
find_program(MAKE_PROGRAM make REQUIRED)
# clang 19 makes models that run 3 to 6 times as fast as g++ 12's; their objects link with g++'s.
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
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${KILN_RTL}/packages.f)
file(STRINGS ${KILN_RTL}/packages.f KILN_RTL_PACKAGES REGEX "^[^#]")
list(TRANSFORM KILN_RTL_PACKAGES PREPEND ${KILN_RTL}/)

# What every run of Verilator gets: warnings are errors, and the few waivers stand with their reasons in rtl/waivers.vlt.
set(KILN_VERILATOR_SOURCES ${KILN_RTL}/waivers.vlt ${KILN_RTL_PACKAGES})
set(KILN_VERILATOR_FLAGS -Wall)
foreach(folder IN LISTS KILN_RTL_FOLDERS)
  list(APPEND KILN_VERILATOR_FLAGS -y ${folder})
  list(APPEND KILN_YOSYS_FOLDERS -libdir ${folder})
endforeach()

# For a look at what goes wrong: each Simulation writes its waveform, <folder of KILN_RTL_WAVES>/<test>.<number>.fst (gtkwave reads it).
option(KILN_RTL_TRACE "RTL tests write waveforms; models compile and run several times as long" OFF)
set(KILN_VERILATOR_TRACE $<$<BOOL:${KILN_RTL_TRACE}>:--trace-fst>)

# The run-time library of all models. No sanitiser: it is not our code, and the models have none either.
add_library(kiln_verilated STATIC ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_threads.cpp)
if(KILN_RTL_TRACE)
  target_sources(kiln_verilated PRIVATE ${VERILATOR_ROOT}/include/verilated_fst_c.cpp)
  target_link_libraries(kiln_verilated PUBLIC ZLIB::ZLIB)
endif()
target_include_directories(kiln_verilated SYSTEM PUBLIC ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
target_compile_definitions(kiln_verilated PUBLIC VERILATOR=1 VM_COVERAGE=0 VM_SC=0 VM_TRACE=$<BOOL:${KILN_RTL_TRACE}>
  VM_TRACE_FST=$<BOOL:${KILN_RTL_TRACE}> VM_TRACE_VCD=0)
target_compile_options(kiln_verilated PRIVATE -w)
target_compile_features(kiln_verilated PUBLIC cxx_std_17)
find_package(Threads REQUIRED)
target_link_libraries(kiln_verilated PUBLIC Threads::Threads atomic)

# verilated.h compiled once rather than with each model, with the flags of Verilator's makefile that a header can tell.
# Without time stamps, so that it is the same file in every build folder (ccache).
set(KILN_VERILATED_PCH ${CMAKE_BINARY_DIR}/rtl/verilated.h.pch)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/rtl)
add_custom_command(OUTPUT ${KILN_VERILATED_PCH}
  COMMAND ${RTL_CXX_COMPILER} -x c++-header -I${VERILATOR_ROOT}/include -I${VERILATOR_ROOT}/include/vltstd -DVM_COVERAGE=0 -DVM_SC=0
    -DVM_TRACE=$<BOOL:${KILN_RTL_TRACE}> -DVM_TRACE_FST=$<BOOL:${KILN_RTL_TRACE}> -DVM_TRACE_VCD=0 -faligned-new -fcf-protection=none
    -w -O1 -Xclang -fno-pch-timestamp ${VERILATOR_ROOT}/include/verilated.h -o ${KILN_VERILATED_PCH}
  DEPENDS ${VERILATOR_ROOT}/include/verilated.h COMMENT "Precompiling verilated.h" VERBATIM)
add_custom_target(kiln_verilated_pch DEPENDS ${KILN_VERILATED_PCH})
list(JOIN CMAKE_CXX_COMPILER_LAUNCHER " " KILN_RTL_LAUNCHER)

# kiln_rtl_model(NAME TOP module [PARAMETERS A=1 ...] [SOURCES file...] [FLAGS flag...] [NETLIST] [BRIEF]): the library rtl_model_NAME with
# the class VNAME in VNAME.h. SOURCES are files that are not found by a module's name (benches of a test), FLAGS go to Verilator.
# Assertions and the AXI checkers are on; registers without a reset start at random (Simulation of tests/rtl/support.h).
#
# NETLIST: the model is made of what Yosys reads in place of what Verilator reads (processes as registers and multiplexers, written
# out as Verilog). The same test on both says that the two tools understand the sources alike. Without assertions and checkers.
#
# BRIEF: a large model that is simulated for little: compiled without optimisation, which takes several times as long as its test.
function(kiln_rtl_model name)
  cmake_parse_arguments(ARG "NETLIST;BRIEF" "TOP" "PARAMETERS;SOURCES;FLAGS" ${ARGN})
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
      "hierarchy -check ${folders} -top ${ARG_TOP}; rename -top ${ARG_TOP}; proc; check -assert; write_verilog -noattr ${netlist}")
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
  # The header is named, so that a test is compiled anew in the very build that changes it.
  add_custom_command(OUTPUT ${archive} BYPRODUCTS ${folder}/V${name}.h
    COMMAND ${VERILATOR_PROGRAM} --cc -O3 --x-assign unique --x-initial unique ${KILN_VERILATOR_TRACE} -CFLAGS -w --Mdir ${folder} --prefix V${name}
      --top-module ${ARG_TOP} ${flags} ${sources}
    COMMAND sed -e "s|^[^:]*:|${archive}:|" ${folder}/V${name}__ver.d > ${folder}/depends.d
    COMMAND ${MAKE_PROGRAM} -s --no-print-directory -C ${folder} -f V${name}.mk V${name}__ALL.a
      "CXX=${KILN_RTL_LAUNCHER} ${RTL_CXX_COMPILER}" LINK=${RTL_CXX_COMPILER} VM_PARALLEL_BUILDS=0
      "VERILATOR_INCLUDER=${PROJECT_SOURCE_DIR}/cmake/join_model $<$<BOOL:${ARG_BRIEF}>:unoptimised>"
      "OPT_FAST=-O1 -include-pch ${KILN_VERILATED_PCH}" CFG_CXXFLAGS_PCH=
    DEPENDS ${sources} ${KILN_VERILATED_PCH} ${PROJECT_SOURCE_DIR}/cmake/join_model DEPFILE ${folder}/depends.d
    COMMENT "Verilating ${name} (${ARG_TOP})" VERBATIM COMMAND_EXPAND_LISTS)
  add_custom_target(rtl_model_${name}_archive DEPENDS ${archive})
  add_library(rtl_model_${name} INTERFACE)
  add_dependencies(rtl_model_${name} rtl_model_${name}_archive)
  target_include_directories(rtl_model_${name} SYSTEM INTERFACE ${folder})
  target_link_libraries(rtl_model_${name} INTERFACE ${archive} kiln_verilated)
endfunction()

# kiln_rtl_test(NAME TEST file... MODELS model... [LINK library...]): the GoogleTest program rtl_NAME_test.
function(kiln_rtl_test name)
  cmake_parse_arguments(ARG "" "" "TEST;MODELS;LINK" ${ARGN})
  add_executable(rtl_${name}_test ${ARG_TEST})
  list(TRANSFORM ARG_MODELS PREPEND rtl_model_)
  target_link_libraries(rtl_${name}_test PRIVATE ${ARG_LINK} ${ARG_MODELS} kiln_support kiln_test_support kiln_settings
    GTest::gmock GTest::gtest_main)
  target_include_directories(rtl_${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  kiln_precompile(rtl_${name}_test kiln_test_headers)
  gtest_discover_tests(rtl_${name}_test TEST_PREFIX rtl. DISCOVERY_TIMEOUT 120 PROPERTIES TIMEOUT 600
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# Every module by itself, with its default parameters: Verilator's lint without a warning, and Yosys' elaboration without a
# problem (`check`), without a name that it had to make up, and without a port whose width is another's (Yosys 0.23 forgets
# casts inside concatenations).
function(kiln_rtl_check_modules)
  list(JOIN KILN_RTL_PACKAGES " " packages)
  list(JOIN KILN_YOSYS_FOLDERS " " folders)
  foreach(file IN LISTS KILN_RTL_MODULES)
    get_filename_component(module ${file} NAME_WE)
    add_test(NAME rtl.lint.${module} COMMAND ${VERILATOR_PROGRAM} --lint-only --assert ${KILN_VERILATOR_FLAGS}
      --top-module ${module} ${KILN_VERILATOR_SOURCES} ${file})
    add_test(NAME rtl.yosys.${module} COMMAND ${YOSYS_PROGRAM} -q -p
      "read_verilog -sv ${packages} ${file}; hierarchy -check ${folders} -top ${module}; proc; check -assert")
    set_tests_properties(rtl.lint.${module} PROPERTIES TIMEOUT 120)
    set_tests_properties(rtl.yosys.${module} PROPERTIES TIMEOUT 900 FAIL_REGULAR_EXPRESSION "implicitly declared;Resizing cell port;ERROR")
  endforeach()
endfunction()
