# Tests of the binary family.
kiln_tests(binary_simulate OPTIMISED FOLDER targets/binary/simulate LINK kiln_binary)
kiln_tests(binary_isa FOLDER targets/binary/isa LINK kiln_binary)
target_sources(binary_isa_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/simulate/random_program.cc)
kiln_tests(binary OPTIMISED FOLDER targets/binary LINK kiln_binary kiln_targets kiln_frontend)
target_sources(conformance_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/simulate/random_program.cc)
kiln_tests(binary_tables OPTIMISED FOLDER targets/binary/tables LINK kiln_binary)
kiln_tests(binary_predict OPTIMISED FOLDER targets/binary/predict LINK kiln_binary)
kiln_tests(binary_block OPTIMISED FOLDER targets/binary/block LINK kiln_binary)
