// Builds and runs the simulation of a pipeline, and reads what it prints.

#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"

#include <sstream>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/support/file.h"
#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/run/stream_simulation.h"

namespace kiln::dataflow {

StatusOr<std::unique_ptr<SegmentSimulation>> SegmentSimulation::Build(
    const Pipeline& pipeline, const EmitOptions& emit, const std::filesystem::path& folder,
    const hardware::SimulationKind& kind, bool behind_memory) {
  std::unique_ptr<SegmentSimulation> simulation(new SegmentSimulation(pipeline));
  simulation->folder_ = folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-dataflow"));
    simulation->folder_ = made.path();
    simulation->temporary_.emplace(std::move(made));
  }
  hardware::RtlProject project = ProjectOf(pipeline, emit);
  if (behind_memory) {
    simulation->weights_ = WeightMemoryOf(pipeline);
    hardware::AddSoc({}, 0, &project, /*observed=*/true,
                     WeightConstantsOf(pipeline, simulation->weights_));
    project = hardware::RtlProject(*project.soc);
    simulation->behind_memory_ = true;
  }
  KILN_RETURN_IF_ERROR(hardware::WriteRtlProject(project, simulation->folder_));
  KILN_ASSIGN_OR_RETURN(simulation->program_, hardware::BuildSimulation(simulation->folder_, kind));
  return simulation;
}

namespace {

// Sets the numbers that a simulation has printed.
void ReadNumbers(const std::string& text, SimulatedImages* result) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t number = 0;
    if (word == "cycles") words >> result->cycles;
    if (word == "image") words >> number >> result->finished.emplace_back();
    if (word == "channel") {
      SimulatedImages::ChannelEvents& c = result->channels.emplace_back();
      words >> number >> c.words >> c.highest >> c.first >> c.last;
    }
  }
}

}  // namespace

StatusOr<SimulatedImages> SegmentSimulation::RunWithMemory(
    std::span<const std::vector<int64_t>> inputs, int64_t images, const RtlOptions& options,
    const RecordedCycles& wave) const {
  std::vector<hardware::StreamPlace> streams;
  const auto add = [&](const Channel& channel) {
    streams.push_back({.beats = static_cast<uint64_t>(channel.words() * images),
                       .beat_bytes = static_cast<int>(BytesOfBeat(channel))});
  };
  std::vector<std::vector<uint8_t>> beats;
  for (const int source : pipeline_.Find(StageKind::kSource)) {
    const Channel& channel = pipeline_.output(pipeline_.stages[static_cast<size_t>(source)]);
    add(channel);
    beats.push_back(BeatsOf(channel, inputs[beats.size()]));
  }
  std::vector<const Channel*> results;
  for (const int sink : pipeline_.Find(StageKind::kSink)) {
    results.push_back(&pipeline_.input(pipeline_.stages[static_cast<size_t>(sink)]));
    add(*results.back());
  }
  std::vector<int64_t> channel_words;
  for (const Channel& channel : pipeline_.channels) {
    // A weight stream reads ahead: no number of words is its end.
    channel_words.push_back(pipeline_.HoldsWeights(channel) ? 0 : channel.words() * images);
  }
  KILN_ASSIGN_OR_RETURN(
      const MemoryRun run,
      RunBehindMemory(program_, streams, {beats.begin(), beats.end()}, options, wave,
                      {"--folder", folder_.string(), "--channels",
                       fmt::format("{}", fmt::join(channel_words, ","))},
                      WeightConstantsOf(pipeline_, weights_)));
  SimulatedImages result;
  for (size_t i = 0; i < results.size(); ++i)
    result.outputs.push_back(CodesOfBeats(*results[i], run.out[i]));
  ReadNumbers(run.printed, &result);
  if (result.channels.size() != pipeline_.channels.size())
    return absl::InternalError("the simulation of a pipeline does not print its results");
  return result;
}

StatusOr<SimulatedImages> SegmentSimulation::Run(std::span<const std::vector<int64_t>> inputs,
                                                 int64_t images, const RtlOptions& options,
                                                 const RecordedCycles& wave) const {
  if (behind_memory_) return RunWithMemory(inputs, images, options, wave);
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder files, TemporaryFolder::Create("kiln-images"));
  std::vector<std::string> arguments = {program_.string(),
                                        "--folder",
                                        folder_.string(),
                                        "--images",
                                        fmt::format("{}", images),
                                        "--seed",
                                        fmt::format("{}", options.seed),
                                        "--stalls",
                                        fmt::format("{}", options.stall_probability)};
  if (options.most_cycles > 0)
    arguments.insert(arguments.end(), {"--limit", fmt::format("{}", options.most_cycles)});
  wave.AppendTo(&arguments);
  const std::vector<int> sources = pipeline_.Find(StageKind::kSource),
                         sinks = pipeline_.Find(StageKind::kSink);
  for (size_t i = 0; i < sources.size(); ++i) {
    const Channel& channel = pipeline_.output(pipeline_.stages[static_cast<size_t>(sources[i])]);
    const std::vector<uint8_t> beats = BeatsOf(channel, inputs[i]);
    const auto file = files.path() / fmt::format("in{}", i);
    KILN_RETURN_IF_ERROR(WriteFile(file, std::string(beats.begin(), beats.end())));
    arguments.insert(arguments.end(), {"--in", file.string()});
  }
  for (size_t i = 0; i < sinks.size(); ++i)
    arguments.insert(arguments.end(), {"--out", (files.path() / fmt::format("out{}", i)).string()});
  const auto log = files.path() / "log";
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  SimulatedImages result;
  for (size_t i = 0; i < sinks.size(); ++i) {
    const Channel& channel = pipeline_.input(pipeline_.stages[static_cast<size_t>(sinks[i])]);
    KILN_ASSIGN_OR_RETURN(const std::string beats,
                          ReadFile(files.path() / fmt::format("out{}", i)));
    const std::vector<uint8_t> bytes(beats.begin(), beats.end());
    result.outputs.push_back(CodesOfBeats(channel, bytes));
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  ReadNumbers(text, &result);
  if (std::ssize(result.finished) != images || result.channels.size() != pipeline_.channels.size())
    return absl::InternalError("the simulation of a pipeline does not print its results");
  return result;
}

}  // namespace kiln::dataflow
