// Builds and runs the simulation of a pipeline, and reads what it prints.

#include "kiln/targets/dataflow/simulate/rtl/segment_simulation.h"

#include <sstream>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/support/file.h"

namespace kiln::dataflow {

StatusOr<std::unique_ptr<SegmentSimulation>> SegmentSimulation::Build(
    const Pipeline& pipeline, const EmitOptions& emit, const std::filesystem::path& folder,
    const hardware::SimulationKind& kind) {
  std::unique_ptr<SegmentSimulation> simulation(new SegmentSimulation(pipeline));
  simulation->folder_ = folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-dataflow"));
    simulation->folder_ = made.path();
    simulation->temporary_.emplace(std::move(made));
  }
  KILN_RETURN_IF_ERROR(hardware::WriteRtlProject(ProjectOf(pipeline, emit), simulation->folder_));
  KILN_ASSIGN_OR_RETURN(simulation->program_, hardware::BuildSimulation(simulation->folder_, kind));
  return simulation;
}

StatusOr<SimulatedImages> SegmentSimulation::Run(std::span<const std::vector<int64_t>> inputs,
                                                 int64_t images, const RtlOptions& options,
                                                 const RecordedCycles& wave) const {
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
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t number = 0;
    if (word == "cycles") words >> result.cycles;
    if (word == "image") words >> number >> result.finished.emplace_back();
    if (word == "channel") {
      SimulatedImages::ChannelEvents& c = result.channels.emplace_back();
      words >> number >> c.words >> c.highest >> c.first >> c.last;
    }
  }
  if (std::ssize(result.finished) != images || result.channels.size() != pipeline_.channels.size())
    return absl::InternalError("the simulation of a pipeline does not print its results");
  return result;
}

}  // namespace kiln::dataflow
