# Tests of the binary family.
kiln_tests(binary_simulate OPTIMISED FOLDER targets/binary/simulate LINK kiln_binary)
kiln_tests(binary_isa FOLDER targets/binary/isa LINK kiln_binary)
target_sources(binary_isa_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/simulate/random_program.cc)
kiln_tests(binary OPTIMISED FOLDER targets/binary LINK kiln_binary kiln_targets kiln_frontend)
target_sources(conformance_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/simulate/random_program.cc)
kiln_tests(binary_tables OPTIMISED FOLDER targets/binary/tables LINK kiln_binary)
kiln_tests(binary_predict OPTIMISED FOLDER targets/binary/predict LINK kiln_binary)
kiln_tests(binary_block OPTIMISED FOLDER targets/binary/block LINK kiln_binary)
kiln_tests(binary_cost OPTIMISED FOLDER targets/binary/cost LINK kiln_binary)
target_sources(binary_cost_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/simulate/random_program.cc)
kiln_tests(binary_compile OPTIMISED FOLDER targets/binary/compile LINK kiln_binary)

# A whole machine as a netlist of cells. The other families' take longer: bench/verify_netlists.
if(KILN_BUILD_RTL_TESTS AND NOT KILN_SANITISE)
  set(check ${PROJECT_SOURCE_DIR}/bench/verify_netlists --quick --kiln $<TARGET_FILE:kiln>
      ${PROJECT_SOURCE_DIR}/tests/targets/binary/netlist.yaml)
  add_test(NAME gates.binary_machine COMMAND ${check})
  add_test(NAME gates.binary_machine_gated COMMAND ${check} --clock-gating)
  set_tests_properties(gates.binary_machine gates.binary_machine_gated
    PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77)
endif()
