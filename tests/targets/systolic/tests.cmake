# Tests of the systolic family.
kiln_tests(systolic FOLDER targets/systolic LINK kiln_systolic kiln_targets kiln_frontend)
kiln_tests(systolic_driver FOLDER targets/systolic/driver LINK kiln_systolic)
target_sources(systolic_driver_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/compiled.cc)
target_sources(conformance_test PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/agreement.cc
  ${CMAKE_CURRENT_LIST_DIR}/random_instruction.cc
  ${CMAKE_CURRENT_LIST_DIR}/random_program.cc)
