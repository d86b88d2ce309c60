# Tests of the dataflow family.
kiln_tests(dataflow_fold OPTIMISED FOLDER targets/dataflow/fold LINK kiln_dataflow)
kiln_tests(dataflow_compile OPTIMISED FOLDER targets/dataflow/compile LINK kiln_dataflow)
kiln_tests(dataflow_cost OPTIMISED FOLDER targets/dataflow/cost LINK kiln_dataflow)
kiln_tests(dataflow OPTIMISED FOLDER targets/dataflow LINK kiln_dataflow kiln_targets kiln_frontend)
target_sources(dataflow_test PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../lower/sign_network.cc)
target_sources(conformance_test PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/agreement.cc
  ${CMAKE_CURRENT_LIST_DIR}/random_pipeline.cc)
