// The sizes and latencies of isa/derived.h are those that Yosys finds in the RTL.
#include "kiln/targets/dataflow/isa/derived.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "kiln/targets/dataflow/emit/emit.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "tests/targets/elaborated.h"

namespace kiln::dataflow {
namespace {

// A 3x3 convolution of 6 channels, folded to 2 lanes and 4 elements that share multipliers.
Stage ConvolutionStage() {
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.map = {.height = 6, .width = 5, .channels = 6};
  stage.window.kernel_y = stage.window.kernel_x = 3;
  stage.window.pad_top = stage.window.pad_left = 1;
  stage.window.out_height = 6;
  stage.window.out_width = 5;
  stage.elements = 4;
  stage.pack = 2;
  stage.weights.assign(8 * 9 * 6, 3);
  stage.sum_bits = 20;
  stage.requantise = {.way = Requantise::Way::kMultiply,
                      .multipliers = std::vector<int64_t>(8, 1000),
                      .addends = std::vector<int64_t>(8, 5),
                      .shift = 16,
                      .low = -128,
                      .high = 127};
  return stage;
}

// A product of 12 numbers with a matrix, whose results are the numbers of thresholds.
Stage DenseStage() {
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.map = {.height = 1, .width = 1, .channels = 12};
  stage.elements = 3;
  stage.weight_bits = 4;
  stage.weights.assign(6 * 12, 1);
  stage.sum_bits = 16;
  stage.requantise.way = Requantise::Way::kThresholds;
  stage.requantise.threshold_bits = 2;
  stage.requantise.high = 3;
  for (int channel = 0; channel < 6; ++channel) {
    for (const int threshold : {-10, 0, 10}) stage.requantise.thresholds.push_back(threshold);
  }
  return stage;
}

Stage DepthwiseStage() {
  Stage stage = ConvolutionStage();
  stage.kind = StageKind::kDepthwise;
  stage.elements = stage.pack = 1;
  stage.weights.assign(6 * 9, 2);
  stage.requantise = {};
  return stage;
}

Stage PoolStage() {
  Stage stage;
  stage.kind = StageKind::kMaxPool;
  stage.map = {.height = 6, .width = 5, .channels = 6};
  stage.window = ConvolutionStage().window;
  stage.window.pad_value = -128;
  return stage;
}

Stage SumStage() {
  Stage stage;
  stage.kind = StageKind::kGlobalSum;
  stage.sum_bits = 16;
  stage.requantise = ConvolutionStage().requantise;
  stage.requantise.multipliers.resize(6);
  stage.requantise.addends.resize(6);
  return stage;
}

Stage ScaledStage() {
  Stage stage;
  stage.kind = StageKind::kAffine;
  stage.factors = {3, 0};
  stage.low = -128;
  stage.high = 127;
  return stage;
}

// A pipeline of one layer.
struct DerivedLayer {
  const char* name;
  Stage stage;
  MapShape in, out;
  CodeType out_type;
  int64_t out_lanes = 1;
  bool streams = false;  // the weights come from memory
  // How many of the cycles of LatencyOf are those of a delay in the module: its instance.
  const char* delay = "";
  bool requantises = true;  // the other cycles are those of kiln_dataflow_requantise

  friend void PrintTo(const DerivedLayer& layer, std::ostream* out) { *out << layer.name; }
};

std::vector<DerivedLayer> DerivedLayers() {
  const MapShape map = {.height = 6, .width = 5, .channels = 6};
  const MapShape vector = {.height = 1, .width = 1, .channels = 12};
  const MapShape dense = {.height = 1, .width = 1, .channels = 6};
  const CodeType code = {8, true}, level = {2, false};
  return {
      {"convolution", ConvolutionStage(), map, {6, 5, 8}, code, 2, false, "done_delay"},
      {"dense", DenseStage(), vector, dense, level, 1, false, "done_delay"},
      {"streamed_dense", DenseStage(), vector, dense, level, 1, true, "done_delay"},
      {"depthwise", DepthwiseStage(), map, map, {20, true}, 2, false, "valid_delay"},
      {"max_pool", PoolStage(), map, map, code, 2, false, "push_delay", false},
      {"global_sum", SumStage(), map, dense, code, 2, false, "valid_delay"},
      {"affine", ScaledStage(), map, map, code, 2, false, "push_delay", false},
  };
}

class DataflowDerived : public testing::TestWithParam<DerivedLayer> {
 protected:
  void SetUp() override {
    const DerivedLayer& layer = GetParam();
    module_ = fmt::format("kiln_dataflow_{}", ModuleName(layer.stage.kind));
    PipelineBuilder builder;
    const int in = builder.Source("in", layer.in, {8, true}, 2);
    Stage stage = layer.stage;
    stage.name = "layer";
    const int out =
        layer.streams
            ? builder.AddStreaming(std::move(stage), in, layer.out, layer.out_type, layer.out_lanes,
                                   {.bytes = 8, .latency = 5})
            : builder.Add(std::move(stage), {in}, layer.out, layer.out_type, layer.out_lanes);
    builder.Sink(out, "out");
    pipeline_ = builder.Take();
    for (Channel& channel : pipeline_.channels) channel.depth = std::max<int64_t>(4, channel.depth);
    ASSERT_EQ(CheckPipeline(pipeline_), OkStatus());
    const hardware::RtlProject project = ProjectOf(pipeline_, {});
    ASSERT_EQ(project.modules.size(), 1u);
    // Without the contents of memories, which are files of the project.
    const std::string network =
        std::regex_replace(project.modules[0].second, std::regex(R"("memory/[^"]*")"), R"("")");
    rtl_.Read(network + project.top_text,
              {module_, "kiln_dataflow_requantise", "kiln_dataflow_window", "kiln_dataflow_rows",
               "kiln_dataflow_weight_stream"});
  }
  static std::string ModuleName(StageKind kind) {
    switch (kind) {
      case StageKind::kConvolution:
        return "convolution";
      case StageKind::kDepthwise:
        return "depthwise";
      case StageKind::kMaxPool:
        return "max_pool";
      case StageKind::kGlobalSum:
        return "global_sum";
      default:
        return "affine";
    }
  }
  const Stage& Find(StageKind kind) const {
    return pipeline_.stages[static_cast<size_t>(pipeline_.Find(kind).at(0))];
  }
  const Stage& stage() const { return Find(GetParam().stage.kind); }
  void ExpectLatency() const;
  void ExpectWeights() const;
  void ExpectLoopsAndRows() const;

  std::string module_;
  Pipeline pipeline_;
  hardware::Elaborated rtl_;
};

void DataflowDerived::ExpectLatency() const {
  int64_t cycles = rtl_.Parameter(module_, GetParam().delay, "CYCLES");
  if (GetParam().requantises)
    cycles += rtl_.Parameter("kiln_dataflow_requantise", "valid_delay", "CYCLES");
  EXPECT_EQ(LatencyOf(pipeline_, stage()), cycles);
}

void DataflowDerived::ExpectWeights() const {
  if (!HasWeights(stage().kind)) return;
  const WeightWords words = WeightWordsOf(pipeline_, stage());
  if (!GetParam().streams) {
    const char* rom = stage().kind == StageKind::kConvolution ? "g_memory.rom" : "rom";
    EXPECT_EQ(words.weights * stage().weight_bits, rtl_.Parameter(module_, rom, "WIDTH"));
    EXPECT_EQ(words.words, rtl_.Parameter(module_, rom, "DEPTH"));
    return;
  }
  const Stage& stream = Find(StageKind::kWeightStream);
  const auto of_port = [&](const char* name) {
    return rtl_.Parameter("kiln_dataflow_weight_stream", "port", name);
  };
  EXPECT_EQ(BytesOfWeightWord(pipeline_.output(stream)), of_port("MAX_BYTES"));
  EXPECT_EQ(OutstandingOf(pipeline_, stream), of_port("OUTSTANDING"));
  EXPECT_EQ(words.weights * stage().weight_bits, rtl_.WireBits(module_, "weights_data"));
}

void DataflowDerived::ExpectLoopsAndRows() const {
  if (GetParam().stage.map.elements() <= 1) return;  // no window
  const WindowLoops loops = LoopsOf(pipeline_, stage());
  if (GetParam().requantises) {
    EXPECT_EQ(loops.results_per_pixel * loops.reserve,
              rtl_.ModuleParameter("kiln_dataflow_requantise", "WORDS"));
  }
  if (stage().window.pointwise()) return;
  const auto row = [&](int64_t number, const char* parameter) {
    return rtl_.Parameter("kiln_dataflow_rows", fmt::format("g_row[{}].row", number), parameter);
  };
  const int64_t rows = stage().window.buffer_rows();
  EXPECT_EQ(stage().map.width * loops.words_per_pixel, row(rows - 1, "WORDS"));
  EXPECT_EQ(pipeline_.input(stage()).word_bits(), row(rows - 1, "WIDTH"));
  EXPECT_EQ(row(rows, "WORDS"), -1);
}

TEST_P(DataflowDerived, SizesAndLatenciesAreTheRtls) {
  ExpectLatency();
  ExpectWeights();
  ExpectLoopsAndRows();
}

INSTANTIATE_TEST_SUITE_P(Stages, DataflowDerived, testing::ValuesIn(DerivedLayers()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace kiln::dataflow
