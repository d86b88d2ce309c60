// Draws programs, and compares what the levels do with them.
#include "tests/targets/dataflow/agreement.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kiln/support/check.h"
#include "kiln/support/random.h"
#include "kiln/targets/dataflow/compile/channels.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/simulate/cycle/data.h"
#include "kiln/targets/dataflow/simulate/cycle/timing.h"
#include "kiln/targets/dataflow/simulate/functional/functional.h"
#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::dataflow {
namespace {

// Images after which channels have seen the steady state of most pipelines.
constexpr int64_t kImagesOfDepths = 6;
constexpr int kTriesOfDepths = 8;

// Makes channels shallower at random, as long as the pipeline does not stop.
void MakeShallower(Random& random, Pipeline* pipeline) {
  for (int trial = 0; trial < kTriesOfDepths; ++trial) {
    Pipeline shallow = *pipeline;
    for (Channel& channel : shallow.channels) {
      const int64_t least = ReserveOf(shallow, channel);
      if (channel.depth > least) channel.depth = random.Between(least, channel.depth);
    }
    if (!SimulateTiming(shallow, {.images = kImagesOfDepths}).ok()) continue;
    *pipeline = std::move(shallow);
    return;
  }
}

void DrawDepths(Random& random, Pipeline* pipeline) {
  const uint64_t way = random.Below(3);
  if (way == 0) return;
  KILN_CHECK(SetDepths({}, pipeline).ok());
  if (way == 1) return;
  MakeShallower(random, pipeline);
  for (Channel& channel : pipeline->channels) {
    const auto memory = static_cast<MemoryKind>(random.Below(3));
    channel.memory = channel.depth > 64 ? MemoryKind::kBlock : memory;
  }
}

// Returns the codes that a program's sinks receive, of all images one after the other.
std::vector<MapCodes> FunctionalOutputs(const RandomProgram& program) {
  const FunctionalPipeline functional(program.pipeline);
  std::vector<MapCodes> outputs(program.pipeline.Find(StageKind::kSink).size());
  for (const auto& image : program.images) {
    const std::vector<MapCodes> results = functional.Run(image);
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].insert(outputs[i].end(), results[i].begin(), results[i].end());
  }
  return outputs;
}

void Count(const RandomProgram& program, ProgramTotals* totals) {
  ++totals->programs;
  totals->images += std::ssize(program.images);
  for (const Stage& stage : program.pipeline.stages) ++totals->stages[NameOf(stage.kind)];
  for (const Channel& channel : program.pipeline.channels) {
    if (!program.pipeline.HoldsWeights(channel))
      totals->words += channel.words() * std::ssize(program.images);
  }
  for (const int sink : program.pipeline.Find(StageKind::kSink)) {
    const Stage& stage = program.pipeline.stages[static_cast<size_t>(sink)];
    totals->codes += program.pipeline.input(stage).map.elements() * std::ssize(program.images);
  }
}

// Returns where two lists of codes differ; nullopt if they are equal.
std::optional<std::string> DifferenceOf(const std::vector<int64_t>& a,
                                        const std::vector<int64_t>& b) {
  if (a.size() != b.size()) return fmt::format("{} and {} codes", a.size(), b.size());
  const auto at = std::ranges::mismatch(a, b);
  if (at.in1 == a.end()) return std::nullopt;
  return fmt::format("code {}: {} and {}", at.in1 - a.begin(), *at.in1, *at.in2);
}

std::optional<std::string> DifferenceAtSinks(const std::vector<MapCodes>& a,
                                             std::span<const std::vector<int64_t>> b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (const auto difference = DifferenceOf(a[i], b[i]))
      return fmt::format("sink {}: {}", i, *difference);
  }
  return std::nullopt;
}

// Returns what differs at a program's channels, which are the hardware's from `first` on. Behind
// memory, weights are read ahead of the run.
std::optional<std::string> DifferenceAtChannels(const Pipeline& pipeline,
                                                const PipelineTiming& timing,
                                                const SimulatedImages& hardware, size_t first,
                                                bool behind_memory = false) {
  for (size_t i = 0; i < timing.channels.size(); ++i) {
    const ChannelTiming& cycle = timing.channels[i];
    const SimulatedImages::ChannelEvents& rtl = hardware.channels[first + i];
    if (pipeline.HoldsWeights(pipeline.channels[i])) {  // read ahead
      if (!behind_memory && cycle.first_pushes.front() != rtl.first)
        return fmt::format("channel {}: first weights in cycle {} and {}", i,
                           cycle.first_pushes.front(), rtl.first);
      continue;
    }
    const auto text = [](int64_t words, int64_t highest, int64_t from, int64_t to) {
      return fmt::format("{} words, highest level {}, pushes in cycles {} to {}", words, highest,
                         from, to);
    };
    const std::string expected = text(cycle.words, cycle.highest, cycle.first_pushes.front(),
                                      cycle.last_pushes.back()),
                      found = text(rtl.words, rtl.highest, rtl.first, rtl.last);
    if (expected != found)
      return fmt::format("channel {}: cycle level {}; hardware {}", i, expected, found);
  }
  return std::nullopt;
}

}  // namespace

ProgramTotals& ProgramTotals::operator+=(const ProgramTotals& other) {
  programs += other.programs;
  images += other.images;
  codes += other.codes;
  words += other.words;
  cycles += other.cycles;
  for (const auto& [kind, count] : other.stages) stages[kind] += count;
  return *this;
}

RandomProgram MakeRandomProgram(uint64_t seed, const RandomPipelineOptions& options,
                                int64_t images) {
  Random random(seed);
  RandomPipelineOptions drawn = options;
  if (random.Below(2) == 0) {
    drawn.code_bits = drawn.weight_bits = 16;
    drawn.threshold_bits = 8;
    drawn.wide_sums = true;
    drawn.merged_map = 250;
  }
  RandomProgram program = {.seed = seed, .pipeline = RandomPipeline(seed, drawn), .images = {}};
  DrawDepths(random, &program.pipeline);
  for (int64_t i = 0; i < images; ++i)
    program.images.push_back(RandomImage(program.pipeline, random()));
  return program;
}

std::optional<std::string> FindDisagreement(const RandomProgram& program, ProgramTotals* totals) {
  const Pipeline& pipeline = program.pipeline;
  if (const Status status = CheckPipeline(pipeline); !status.ok()) return MessageOf(status);
  std::vector<MapCodes> stream(pipeline.Find(StageKind::kSink).size());
  for (const auto& image : program.images) {
    const std::vector<CodeStream> results = StreamData(pipeline, image);
    for (size_t i = 0; i < stream.size(); ++i)
      stream[i].insert(stream[i].end(), results[i].begin(), results[i].end());
  }
  if (const auto difference = DifferenceAtSinks(FunctionalOutputs(program), stream))
    return "functional and cycle level: " + *difference;
  const auto timing = SimulateTiming(pipeline, {.images = std::ssize(program.images)});
  if (!timing.ok()) return "cycle level: " + MessageOf(timing.status());
  for (size_t i = 0; i < pipeline.channels.size(); ++i) {
    if (pipeline.HoldsWeights(pipeline.channels[i])) continue;  // it reads ahead
    const int64_t words = pipeline.channels[i].words() * std::ssize(program.images);
    const ChannelTiming& channel = timing->channels[i];
    if (channel.words != words || channel.highest > pipeline.channels[i].depth)
      return fmt::format("cycle level: channel {} has {} words of {}, {} at once in a depth of {}",
                         i, channel.words, words, channel.highest, pipeline.channels[i].depth);
  }
  Count(program, totals);
  totals->cycles += timing->cycles;
  return std::nullopt;
}

StatusOr<std::optional<RtlDisagreement>> FindRtlDisagreement(
    std::span<const RandomProgram> programs, double stalls, uint64_t seed, ProgramTotals* totals) {
  std::vector<Pipeline> pipelines;
  std::vector<std::vector<int64_t>> inputs;  // of all programs' sources
  std::vector<std::vector<MapCodes>> expected;
  std::vector<PipelineTiming> timings;
  const int64_t images = std::ssize(programs.front().images);
  std::vector<int64_t> finished(static_cast<size_t>(images), 0);
  for (const RandomProgram& program : programs) {
    KILN_CHECK(std::ssize(program.images) == images);
    pipelines.push_back(program.pipeline);
    for (size_t source = 0; source < program.images[0].size(); ++source) {
      auto& codes = inputs.emplace_back();
      for (const auto& image : program.images)
        codes.insert(codes.end(), image[source].begin(), image[source].end());
    }
    expected.push_back(FunctionalOutputs(program));
    KILN_ASSIGN_OR_RETURN(PipelineTiming timing,
                          SimulateTiming(program.pipeline, {.images = images}));
    for (size_t i = 0; i < finished.size(); ++i)
      finished[i] = std::max(finished[i], timing.finished[i]);
    timings.push_back(std::move(timing));
  }
  const Pipeline all = SideBySide(pipelines);
  KILN_RETURN_IF_ERROR(CheckPipeline(all));
  KILN_ASSIGN_OR_RETURN(const auto simulation,
                        SegmentSimulation::Build(all, {.name = "random programs"}, {}));
  // Stalls make a run longer, but never by such a factor.
  constexpr int64_t kLongest = 100, kAlways = 10000;
  RtlOptions options;
  options.seed = seed;
  options.most_cycles = static_cast<uint64_t>(kLongest * finished.back() + kAlways);
  for (const double probability : {0.0, stalls}) {
    if (probability != 0) options.stall_probability = probability;
    KILN_ASSIGN_OR_RETURN(const SimulatedImages hardware, simulation->Run(inputs, images, options));
    size_t sink = 0, channel = 0;
    for (size_t i = 0; i < programs.size(); ++i) {
      auto difference = DifferenceAtSinks(expected[i], std::span(hardware.outputs).subspan(sink));
      if (!difference && probability == 0)
        difference = DifferenceAtChannels(pipelines[i], timings[i], hardware, channel);
      if (difference) {
        return RtlDisagreement{
            programs[i].seed, fmt::format("hardware with stalls {}: {}", probability, *difference)};
      }
      sink += expected[i].size();
      channel += pipelines[i].channels.size();
    }
    if (probability == 0 && hardware.finished != finished)
      return RtlDisagreement{programs.front().seed, "the images end in other cycles"};
    totals->cycles += hardware.cycles;
    if (stalls == 0) break;
  }
  for (const RandomProgram& program : programs) Count(program, totals);
  return std::optional<RtlDisagreement>();
}

StatusOr<std::optional<std::string>> FindDisagreementBehindMemory(
    std::span<const RandomProgram> programs, std::span<const RtlOptions> memories) {
  constexpr size_t kMostStreams = 48;  // of kiln_stream_control
  std::vector<Pipeline> pipelines;
  std::vector<std::vector<int64_t>> inputs;  // of all programs' sources
  std::vector<MapCodes> expected;
  size_t streams = 0;
  const int64_t images = std::ssize(programs.front().images);
  for (const RandomProgram& program : programs) {
    const Pipeline& pipeline = program.pipeline;
    const size_t sources = program.images[0].size(), sinks = pipeline.Find(StageKind::kSink).size();
    if (streams + sources + sinks > kMostStreams) break;
    streams += sources + sinks;
    pipelines.push_back(pipeline);
    for (size_t source = 0; source < sources; ++source) {
      auto& codes = inputs.emplace_back();
      for (const auto& image : program.images)
        codes.insert(codes.end(), image[source].begin(), image[source].end());
    }
    for (MapCodes& codes : FunctionalOutputs(program)) expected.push_back(std::move(codes));
  }
  if (pipelines.empty()) return std::optional<std::string>();
  const Pipeline all = SideBySide(pipelines);
  KILN_ASSIGN_OR_RETURN(const auto simulation,
                        SegmentSimulation::Build(all, {.name = "random programs"}, {}, {},
                                                 /*behind_memory=*/true));
  for (const RtlOptions& options : memories) {
    KILN_ASSIGN_OR_RETURN(
        const PipelineTiming timing,
        SimulateTiming(all, {.images = images, .memory = StreamMemoryOf(options)}));
    KILN_ASSIGN_OR_RETURN(const SimulatedImages hardware, simulation->Run(inputs, images, options));
    std::optional<std::string> difference = DifferenceAtSinks(expected, hardware.outputs);
    if (!difference) {
      difference = DifferenceAtChannels(all, timing, hardware, 0, /*behind_memory=*/true);
    }
    if (!difference && timing.cycles != hardware.cycles) {
      difference =
          fmt::format("a run of {} cycles, {} in hardware", timing.cycles, hardware.cycles);
    }
    if (difference) {
      return std::optional(fmt::format("{} bytes a cycle, latency {}: {}",
                                       options.dram_bytes_per_cycle, options.memory_latency,
                                       *difference));
    }
  }
  return std::optional<std::string>();
}

}  // namespace kiln::dataflow
