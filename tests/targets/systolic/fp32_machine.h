// A design point for tests that are about other things than the pipelined vector unit.
#ifndef KILN_TESTS_TARGETS_SYSTOLIC_FP32_MACHINE_H_
#define KILN_TESTS_TARGETS_SYSTOLIC_FP32_MACHINE_H_

#include "kiln/numerics/format.h"
#include "kiln/targets/systolic/config/config.h"

namespace kiln::systolic {

// Returns a 16x16 int8 machine whose vector unit computes in fp32, in twelve stages that all have
// functions and dividers, and whose buffers have 1,024 words. Its results are exact where fp32 is,
// and its stages take any chain.
inline Config Fp32Machine() {
  Config config;
  config.input_buffer_words = config.weight_buffer_words = 1024;
  config.accumulation_buffer_words = config.parameter_buffer_words = 1024;
  config.vector_format = *FindFormat("fp32");
  config.vector_stages = kMostVectorStages;
  config.vector_stage_latency = 4;
  config.vector_function_latency = config.vector_convert_latency = 0;
  config.vector_function_stages = config.vector_divide_stages = kEveryStage;
  config.vector_row_buffer_words = 1024;
  config.depthwise_buffer_words = 1024;
  config.operand_buffer_words = 32;
  config.command_queue_depth = 4;
  return config;
}

}  // namespace kiln::systolic

#endif  // KILN_TESTS_TARGETS_SYSTOLIC_FP32_MACHINE_H_
