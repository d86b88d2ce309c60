// Folding problems of whole networks with a model of an FPGA that counts DSP slices, block RAM,
// URAM and LUTs: for tests and benchmarks. The model is simple, but has the features that make real
// problems hard: several kinds of memory for weights, steps of memory blocks, line buffers, and
// FIFOs at residual joins.
#ifndef KILN_TESTS_TARGETS_DATAFLOW_FOLD_NETWORKS_H_
#define KILN_TESTS_TARGETS_DATAFLOW_FOLD_NETWORKS_H_

#include <cstdint>

#include "kiln/targets/dataflow/fold/problem.h"

namespace kiln::dataflow {

struct StageModel {
  int weight_bits = 8, activation_bits = 8;
  int products_per_dsp = 1;
  bool memory_kinds = true;  // weights in block RAM, URAM or LUTs; otherwise block RAM only
  bool fifos = true;         // FIFOs at the inputs of joins
  bool weights_on_chip = true;
};

// The limits of a ZCU104 board (XCZU7EV): 1728 DSP, 624 RAMB18, 96 URAM, 230400 LUT.
Resources Zcu104();
// The limits of an Alveo U250 (XCU250): 12288 DSP, 5376 RAMB18, 1280 URAM, 1728000 LUT.
Resources U250();

// ResNet for ImageNet with 18 or 50 weighted layers (without the last dense layer), one layer for
// each convolution, pooling and addition.
FoldProblem ResNet(int depth, const StageModel& model, const Resources& limits);

// MobileNetV2 for ImageNet: pointwise and depthwise convolutions and additions.
FoldProblem MobileNetV2(const StageModel& model, const Resources& limits);

// The chain of VDSR (plain_model.h) with this model.
FoldProblem VdsrOnFpga(int layers, int64_t size, const StageModel& model, const Resources& limits);

}  // namespace kiln::dataflow

#endif  // KILN_TESTS_TARGETS_DATAFLOW_FOLD_NETWORKS_H_
