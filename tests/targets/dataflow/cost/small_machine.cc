#include "tests/targets/dataflow/cost/small_machine.h"

#include <utility>

#include "kiln/targets/dataflow/isa/builder.h"

namespace kiln::dataflow {

Pipeline SmallMachine() {
  PipelineBuilder builder;
  const int in = builder.Source("in", {6, 6, 4}, {8, true}, 2);

  Stage conv;
  conv.kind = StageKind::kConvolution;
  conv.name = "conv";
  conv.map = {6, 6, 4};
  conv.window.kernel_y = conv.window.kernel_x = 3;
  conv.window.pad_top = conv.window.pad_left = 1;
  conv.window.out_height = conv.window.out_width = 6;
  conv.elements = 4;
  conv.pack = 2;
  conv.weights.assign(8 * 9 * 4, 3);
  conv.sum_bits = 20;
  conv.requantise.way = Requantise::Way::kMultiply;
  conv.requantise.multipliers.assign(8, 1000);
  conv.requantise.addends = {1000, -1000, 0, 0, 5, 6, 7, 8};  // 11 bits
  conv.requantise.shift = 16;
  conv.requantise.low = -128;
  conv.requantise.high = 127;
  const int convolved = builder.Add(std::move(conv), {in}, {6, 6, 8}, {8, true}, 4);

  Stage pool;
  pool.kind = StageKind::kMaxPool;
  pool.name = "pool";
  pool.map = {6, 6, 8};
  pool.window.kernel_y = pool.window.kernel_x = 2;
  pool.window.stride_y = pool.window.stride_x = 2;
  pool.window.out_height = pool.window.out_width = 3;
  pool.window.pad_value = -128;
  const int pooled = builder.Add(std::move(pool), {convolved}, {3, 3, 8}, {8, true}, 4);

  Stage dense;
  dense.kind = StageKind::kConvolution;
  dense.name = "dense";
  dense.map = {1, 1, 72};
  dense.elements = 2;
  dense.weight_bits = 4;
  dense.weights.assign(4 * 72, 1);
  dense.weight_memory = MemoryKind::kBlock;
  dense.sum_bits = 16;
  dense.requantise.way = Requantise::Way::kThresholds;
  dense.requantise.threshold_bits = 2;
  dense.requantise.high = 3;
  for (int channel = 0; channel < 4; ++channel) {
    for (const int threshold : {-10, 0, 10}) dense.requantise.thresholds.push_back(threshold);
  }
  builder.Sink(builder.Add(std::move(dense), {pooled}, {1, 1, 4}, {2, false}, 1), "out");

  Pipeline pipeline = builder.Take();
  const int64_t depths[] = {8, 5, 2, 4};
  for (size_t i = 0; i < pipeline.channels.size(); ++i) pipeline.channels[i].depth = depths[i];
  pipeline.channels[1].memory = MemoryKind::kBlock;
  return pipeline;
}

}  // namespace kiln::dataflow
