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
    hardware::AddSoc({}, 0, &project, /*observed=*/true);
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

StatusOr<SimulatedImages> SegmentSimulation::RunBehindMemory(
    std::span<const std::vector<int64_t>> inputs, int64_t images, const RtlOptions& options,
    const RecordedCycles& wave) const {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder files, TemporaryFolder::Create("kiln-images"));
  const auto before = files.path() / "memory", after = files.path() / "result",
             log = files.path() / "log";
  std::vector<hardware::StreamPlace> places;
  const auto place = [&](const Channel& channel) {
    places.push_back({.beats = static_cast<uint64_t>(channel.words() * images),
                      .beat_bytes = static_cast<int>(BytesOfBeat(channel))});
  };
  const std::vector<int> sources = pipeline_.Find(StageKind::kSource),
                         sinks = pipeline_.Find(StageKind::kSink);
  for (const int source : sources)
    place(pipeline_.output(pipeline_.stages[static_cast<size_t>(source)]));
  for (const int sink : sinks) place(pipeline_.input(pipeline_.stages[static_cast<size_t>(sink)]));
  hardware::PlaceStreams(&places);
  std::string content;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Channel& channel = pipeline_.output(pipeline_.stages[static_cast<size_t>(sources[i])]);
    const std::vector<uint8_t> beats = BeatsOf(channel, inputs[i]);
    content.resize(places[i].address, '\0');
    content.append(beats.begin(), beats.end());
  }
  KILN_RETURN_IF_ERROR(WriteFile(before, content));
  std::vector<uint64_t> words, channel_words;
  for (const hardware::StreamPlace& stream : places)
    words.insert(words.end(), {stream.address, stream.beats});
  for (const Channel& channel : pipeline_.channels)
    channel_words.push_back(static_cast<uint64_t>(channel.words() * images));
  std::vector<std::string> arguments = {program_.string(),
                                        "--folder",
                                        folder_.string(),
                                        "--memory",
                                        before.string(),
                                        "--result",
                                        after.string(),
                                        "--run",
                                        fmt::format("{}", fmt::join(words, ",")),
                                        "--channels",
                                        fmt::format("{}", fmt::join(channel_words, ","))};
  for (std::string& argument : StreamMemoryArguments(options))
    arguments.push_back(std::move(argument));
  wave.AppendTo(&arguments);
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  KILN_ASSIGN_OR_RETURN(const std::string memory, ReadFile(after));
  SimulatedImages result;
  for (size_t i = 0; i < sinks.size(); ++i) {
    const Channel& channel = pipeline_.input(pipeline_.stages[static_cast<size_t>(sinks[i])]);
    const hardware::StreamPlace& stream = places[sources.size() + i];
    const uint64_t bytes = stream.beats * static_cast<uint64_t>(stream.beat_bytes);
    if (stream.address + bytes > memory.size())
      return absl::InternalError("the memory behind a pipeline ends before its results");
    const auto first = memory.begin() + static_cast<ptrdiff_t>(stream.address);
    result.outputs.push_back(
        CodesOfBeats(channel, std::vector<uint8_t>(first, first + static_cast<ptrdiff_t>(bytes))));
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  ReadNumbers(text, &result);
  if (result.channels.size() != pipeline_.channels.size())
    return absl::InternalError("the simulation of a pipeline does not print its results");
  return result;
}

StatusOr<SimulatedImages> SegmentSimulation::Run(std::span<const std::vector<int64_t>> inputs,
                                                 int64_t images, const RtlOptions& options,
                                                 const RecordedCycles& wave) const {
  if (behind_memory_) return RunBehindMemory(inputs, images, options, wave);
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
