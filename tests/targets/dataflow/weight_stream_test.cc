// Weights that come from memory: the image of the memory, the beats of words, and the cycles of a
// convolution that waits for them, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/cost/events.h"
#include "kiln/targets/dataflow/emit/emit.h"
#include "kiln/targets/dataflow/isa/builder.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/isa/pipeline.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"

namespace kiln::dataflow {
namespace {

using testing::ElementsAre;

// A fully connected layer of 4 inputs and 6 outputs, folded to 2 lanes and 3 elements, with weights
// of 4 bits that count from -8.
Stage FullyConnected() {
  Stage stage;
  stage.kind = StageKind::kConvolution;
  stage.name = "fc";
  stage.map = {1, 1, 4};
  stage.elements = 3;
  stage.weight_bits = 4;
  for (int i = 0; i < 24; ++i) stage.weights.push_back(i % 16 - 8);
  stage.sum_bits = 16;
  return stage;
}

Pipeline Streaming(const WeightPort& port) {
  PipelineBuilder builder;
  const int in = builder.Source("in", {1, 1, 4}, {8, true}, 2);
  builder.Sink(builder.AddStreaming(FullyConnected(), in, {1, 1, 6}, {16, true}, 3, port), "out");
  return builder.Take();
}

const Stage& StreamOf(const Pipeline& pipeline) {
  return pipeline.stages[static_cast<size_t>(pipeline.Find(StageKind::kWeightStream).at(0))];
}

TEST(WeightStream, ReadsAWordForEachStep) {
  const Pipeline pipeline = Streaming({.bytes = 8, .latency = 5});
  ASSERT_EQ(CheckPipeline(pipeline), OkStatus());
  const Channel& words = pipeline.output(StreamOf(pipeline));
  EXPECT_EQ(words.word_bits(), 2 * 3 * 4);
  EXPECT_EQ(words.words(), 2 * 2);  // words of the input times passes over the outputs
  EXPECT_EQ(BytesOfWeightWord(words), 3);
  // Words begin at bytes 0, 3, 6 and 9: the third touches two beats of 8 bytes.
  std::vector<int64_t> beats;
  for (int64_t i = 0; i < 4; ++i) beats.push_back(BeatsOfWord(StreamOf(pipeline), words, i));
  EXPECT_THAT(beats, ElementsAre(1, 1, 2, 1));
  EXPECT_EQ(BeatsOfImage(StreamOf(pipeline), words), 5);
  EXPECT_EQ(CyclesPerImage(pipeline, StreamOf(pipeline)), 5);
  EXPECT_EQ(CyclesPerImage(pipeline, pipeline.stages[2]), 4);
}

// Streams use the bus of their machine; the weights come through a port of their own.
TEST(WeightStream, IsNotOnTheBusOfTheStreams) {
  std::vector<StageTraffic> all = TrafficOf(Streaming({.bytes = 8, .latency = 5}));
  ASSERT_EQ(all.size(), 3u);
  std::vector<MemoryPort> ports;
  for (const StageTraffic& stage : all) ports.push_back(stage.port);
  Traffic traffic = Traffic::For(ports, 1);
  traffic.bus_bytes_per_cycle = 16;
  for (size_t p = 0; p < all.size(); ++p) traffic.bytes[0][p] = all[p].bytes;
  traffic.PutBehindMemory(100);
  std::map<std::string, int64_t> bytes;
  for (size_t p = 0; p < traffic.ports.size(); ++p)
    bytes[traffic.ports[p].name] = traffic.bytes[0][p];
  EXPECT_EQ(bytes["bus, reads"], 4) << "2 words of 2 bytes";
  EXPECT_EQ(bytes["bus, writes"], 12) << "2 words of 3 codes of 16 bits";
  EXPECT_EQ(bytes["memory"], 4 + 12 + 5 * 8) << "and 5 beats of weights";
}

// Counts beats byte by byte.
TEST(WeightStream, BeatsOfAnImageAreTheBeatsOfItsWords) {
  for (const int64_t port : {8, 16, 128}) {
    for (int64_t bytes = 1; bytes <= 40; ++bytes) {
      for (const int64_t words : {1, 7, 64}) {
        Stage stream;
        stream.port_bytes = port;
        Channel channel;
        channel.type = {8, true};
        channel.lanes = bytes;
        channel.map = {3, words, bytes};
        int64_t beats = 0;
        for (int64_t word = 0; word < words; ++word) {
          std::set<int64_t> touched;
          for (int64_t i = 0; i < bytes; ++i) touched.insert((word * bytes + i) / port);
          beats += std::ssize(touched);
        }
        EXPECT_EQ(BeatsOfImage(stream, channel), 3 * beats) << port << " " << bytes << " " << words;
      }
    }
  }
}

// Word (og, ig) holds the weights of elements 3 og to 3 og + 2 for channels 2 ig and 2 ig + 1.
TEST(WeightStream, MemoryHoldsWordsInTheOrderOfSteps) {
  const Pipeline pipeline = Streaming({.bytes = 8, .latency = 5});
  const std::vector<uint8_t> memory = WeightMemoryOf(pipeline);
  ASSERT_EQ(memory.size(), 16u);  // 12 bytes, in whole beats
  const Stage layer = FullyConnected();
  size_t place = 0;  // in half bytes
  for (size_t og = 0; og < 2; ++og) {
    for (size_t ig = 0; ig < 2; ++ig) {
      for (size_t e = 0; e < 3; ++e) {
        for (size_t lane = 0; lane < 2; ++lane) {
          const int weight = layer.weights[(3 * og + e) * 4 + 2 * ig + lane];
          EXPECT_EQ(memory[place / 2] >> (4 * (place % 2)) & 15, weight & 15) << place;
          ++place;
        }
      }
    }
  }
}

// The first word is requested in cycle 0 and touches one beat: it is pushed in 0 + 1 + M + 1 and
// popped one cycle later. The last of the four steps follows the third word by its two beats and
// one more, and its result of 4 + 1 levels of adders is out D cycles later.
TEST(WeightStream, StepsWaitForTheirWeights) {
  for (const int64_t latency : {1, 9, 40}) {
    Pipeline pipeline = Streaming({.bytes = 8, .latency = latency});
    const auto pace = SetDepths({}, &pipeline);
    ASSERT_TRUE(pace.ok()) << pace.status();
    EXPECT_EQ(pace->interval, 5);
    const auto timing = SimulateTiming(pipeline, {});
    ASSERT_TRUE(timing.ok()) << timing.status();
    // Requests in cycles 0, 1, 2 and 4, which take 1, 1, 2 and 1 beats.
    const int64_t last_step = 4 + 1 + latency + 1 + 1;
    const int64_t depth = LatencyOf(pipeline, pipeline.stages[2]);
    EXPECT_EQ(timing->cycles, last_step + depth + 2) << latency;
    // Images follow one another at the pace of the beats.
    const auto many = SimulateTiming(pipeline, {.images = 30});
    ASSERT_TRUE(many.ok()) << many.status();
    EXPECT_EQ(many->finished[29] - many->finished[9], 20 * 5) << latency;
  }
}

TEST(WeightStream, FaultsOfPipelinesAreNamed) {
  const std::vector<std::pair<std::string, std::function<void(Pipeline&)>>> faults = {
      {"stage 'fc_weights': has beats of 12 bytes",
       [](Pipeline& p) { p.stages[1].port_bytes = 12; }},
      {"stage 'fc_weights': begins at address 100",
       [](Pipeline& p) { p.stages[1].base_address = 100; }},
      {"stage 'fc_weights': has a latency of 0 cycles",
       [](Pipeline& p) { p.stages[1].memory_latency = 0; }},
      {"stage 'fc': reads words that are not its weights",
       [](Pipeline& p) { p.channels[1].type.bits = 5; }},
      {"stage 'fc_weights': does not lead to the weights of a convolution",
       [](Pipeline& p) { std::swap(p.stages[2].inputs[0], p.stages[2].inputs[1]); }},
  };
  for (const auto& [message, spoil] : faults) {
    Pipeline pipeline = Streaming({});
    spoil(pipeline);
    const Status status = CheckPipeline(pipeline);
    ASSERT_FALSE(status.ok()) << message;
    EXPECT_THAT(MessageOf(status), testing::StartsWith(message));
  }
}

// Two streams begin on pages of their own.
TEST(WeightStream, BaseAddressesAreOnPages) {
  PipelineBuilder builder;
  int value = builder.Source("in", {1, 1, 4}, {8, true}, 2);
  value = builder.AddStreaming(FullyConnected(), value, {1, 1, 6}, {16, true}, 3, {});
  Stage second = FullyConnected();
  second.map = {1, 1, 6};
  second.elements = 1;
  second.weights.assign(6 * 2, 3);
  second.sum_bits = 24;
  value = builder.AddStreaming(std::move(second), value, {1, 1, 2}, {24, true}, 1, {});
  builder.Sink(value, "out");
  const Pipeline pipeline = builder.Take();
  ASSERT_EQ(CheckPipeline(pipeline), OkStatus());
  const std::vector<int> streams = pipeline.Find(StageKind::kWeightStream);
  ASSERT_EQ(streams.size(), 2u);
  EXPECT_EQ(pipeline.stages[static_cast<size_t>(streams[0])].base_address, 0);
  EXPECT_EQ(pipeline.stages[static_cast<size_t>(streams[1])].base_address, 4096);
  // The second layer has 2 passes of 2 words of 3 weights, of 2 bytes each; the last beat is whole.
  EXPECT_EQ(WeightMemoryOf(pipeline).size(), 4096u + 16);
}

}  // namespace
}  // namespace kiln::dataflow
