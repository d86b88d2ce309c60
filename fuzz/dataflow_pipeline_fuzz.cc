// Fuzz target: makes a pipeline from any bytes and then spoils some of its numbers. CheckPipeline
// refuses it with one line, or all levels run it: the functional level and the data of the cycle
// level agree, and the timing ends, with every word counted, or names a deadlock.
#include <array>
#include <cstdint>
#include <string>

#include "fuzz/bytes.h"
#include "kiln/support/check.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "tests/targets/dataflow/random_pipeline.h"

namespace {

using namespace kiln::dataflow;  // NOLINT: a program of one file
using kiln::Bytes;

constexpr RandomPipelineOptions kSizes = {.most_stages = 5,
                                          .most_elements = 500,
                                          .code_bits = 16,
                                          .weight_bits = 16,
                                          .threshold_bits = 8,
                                          .wide_sums = true,
                                          .merged_map = 250};
constexpr int64_t kMostEvents = 200000, kMostElements = 4000;

// Replaces one number of a stage or a channel.
void Spoil(Bytes& bytes, Pipeline* pipeline) {
  Stage& s = pipeline->stages[bytes.Below(pipeline->stages.size())];
  Channel& c = pipeline->channels[bytes.Below(pipeline->channels.size())];
  Window& w = s.window;
  Requantise& r = s.requantise;
  const std::array<int64_t*, 37> wide = {
      &c.map.height,   &c.map.width,     &c.map.channels, &c.lanes,      &c.depth,
      &s.map.height,   &s.map.width,     &s.map.channels, &s.groups,     &s.elements,
      &s.pack,         &s.addend,        &s.low,          &s.high,       &s.pad_top,
      &s.pad_left,     &s.pad_value,     &s.pad_front,    &s.factor_y,   &s.factor_x,
      &s.factors[0],   &s.factors[1],    &w.kernel_y,     &w.kernel_x,   &w.stride_y,
      &w.stride_x,     &w.pad_top,       &w.pad_left,     &w.dilation_y, &w.dilation_x,
      &w.out_height,   &w.out_width,     &w.pad_value,    &w.extra_rows, &s.port_bytes,
      &s.base_address, &s.memory_latency};
  const std::array<int*, 8> narrow = {&c.type.bits, &c.from,  &c.to,    &s.weight_bits,
                                      &s.sum_bits,  &s.shift, &r.shift, &r.threshold_bits};
  const int64_t value = bytes.Below(4) == 0 ? bytes.Between(-70000, 70000) : bytes.Between(-2, 20);
  const uint64_t which = bytes.Below(wide.size() + narrow.size() + 6);
  if (which < wide.size()) {
    *wide[which] = value;
  } else if (which < wide.size() + narrow.size()) {
    *narrow[which - wide.size()] = static_cast<int>(value);
  } else if (which == wide.size() + narrow.size()) {
    c.type.is_signed = !c.type.is_signed;
  } else if (which == wide.size() + narrow.size() + 1) {
    s.kind = static_cast<StageKind>(bytes.Below(static_cast<uint64_t>(kLastStageKind) + 1));
  } else if (which == wide.size() + narrow.size() + 2) {
    r.way = static_cast<Requantise::Way>(bytes.Below(3));
  } else if (which == wide.size() + narrow.size() + 3) {
    (value % 2 == 0 ? r.low : r.high) = value;
  } else if (which == wide.size() + narrow.size() + 4 && !s.weights.empty()) {
    s.weights[bytes.Below(s.weights.size())] = static_cast<int32_t>(value);
  } else if (!r.thresholds.empty()) {
    r.thresholds[bytes.Below(r.thresholds.size())] = value;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  // What spoils the pipeline comes first, so that it does not depend on the bytes of the stages.
  const size_t spoils = bytes.Below(3);
  std::array<uint8_t, 16> spoil_bytes;
  for (uint8_t& byte : spoil_bytes) byte = static_cast<uint8_t>(bytes.Below(256));
  Pipeline pipeline = MakePipeline([&](uint64_t bound) { return bytes.Below(bound); }, kSizes);
  Bytes spoiling(spoil_bytes.data(), spoil_bytes.size());
  for (size_t i = 0; i < spoils; ++i) Spoil(spoiling, &pipeline);
  if (const kiln::Status status = CheckPipeline(pipeline); !status.ok()) {
    KILN_CHECK(kiln::MessageOf(status).find('\n') == std::string::npos);
    return 0;
  }
  for (const Channel& channel : pipeline.channels) {
    if (channel.map.elements() > kMostElements) return 0;
  }
  for (const Stage& stage : pipeline.stages) {
    if (stage.window.taps() > 64 || stage.window.extra_rows > 64) return 0;
  }
  KILN_CHECK(!PrintPipeline(pipeline).empty());
  const auto image = RandomImage(pipeline, size);
  KILN_CHECK(FunctionalPipeline(pipeline).Run(image) == StreamData(pipeline, image));
  const auto timing = SimulateTiming(pipeline, {.images = 2, .most_events = kMostEvents});
  if (!timing.ok()) return 0;
  for (size_t i = 0; i < pipeline.channels.size(); ++i) {
    // A weight stream reads ahead.
    KILN_CHECK(pipeline.HoldsWeights(pipeline.channels[i]) ||
               timing->channels[i].words == 2 * pipeline.channels[i].words());
    KILN_CHECK(timing->channels[i].highest <= pipeline.channels[i].depth);
  }
  for (const Stage& stage : pipeline.stages)
    KILN_CHECK(timing->cycles >= CyclesPerImage(pipeline, stage));
  return 0;
}
