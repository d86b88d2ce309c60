// Builds the top module and the simulation of stream machines, and parses the simulation's output.

#include "kiln/targets/run/stream_simulation.h"

#include <cstring>
#include <numeric>
#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/file.h"
#include "kiln/targets/interface/difference.h"

namespace kiln {

void SetStreamTop(std::string_view module, const std::vector<hardware::RtlParameter>& parameters,
                  int in_bytes, int out_bytes, hardware::RtlProject* project) {
  project->testbench = {"kiln_stream_testbench.cc", "kiln_simulate_options.h",
                        "kiln_simulate_sample.h",   "kiln_simulate_wave.h",
                        "kiln_axi_memory.h",        "kiln_memory_timing.h"};
  hardware::TopModule top;
  top.comment = "The accelerator: one stream in, one out.";
  top.buses = {{"in", hardware::AxiStreamSinkSignals(in_bytes)},
               {"out", hardware::AxiStreamSourceSignals(out_bytes, /*marks_last=*/false)}};
  top.instances = {
      {.module = std::string(module), .name = "machine", .parameters = parameters},
      {.module = "kiln_handshake_checker",
       .name = "out_checker",
       .parameters = {{"WIDTH", fmt::format("{}", 8 * out_bytes)}},
       .connections = {{"valid", "out_tvalid"}, {"ready", "out_tready"}, {"payload", "out_tdata"}},
       .only_in_simulation = true}};
  SetTop(top, project);
  project->others.emplace_back(
      "design.h",
      fmt::format("namespace kiln_design {{\nconstexpr int kInBytes = {}, kOutBytes = {};\n}}\n",
                  in_bytes, out_bytes));
}

std::optional<hardware::AxiTiming> StreamMemoryOf(const RtlOptions& options) {
  if (options.dram_bytes_per_cycle == 0 && options.memory_latency == 0) return std::nullopt;
  return MemoryTimingOf(options, hardware::kSocLatency);
}

StatusOr<MemoryRun> RunBehindMemory(const std::filesystem::path& program,
                                    std::vector<hardware::StreamPlace> streams,
                                    const std::vector<std::span<const uint8_t>>& in,
                                    const RtlOptions& options, const RecordedCycles& wave,
                                    const std::vector<std::string>& more,
                                    const hardware::PortConstants& constants) {
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create("kiln-memory"));
  const auto before = folder.path() / "memory", after = folder.path() / "result",
             log = folder.path() / "log";
  const uint64_t end = hardware::PlaceStreams(&streams);
  std::string content;
  for (size_t i = 0; i < in.size(); ++i) {
    content.resize(streams[i].address, '\0');
    content.append(in[i].begin(), in[i].end());
  }
  std::vector<uint64_t> registers;
  if (!constants.bytes.empty()) {
    content.resize(end, '\0');
    content.append(constants.bytes.begin(), constants.bytes.end());
    for (const auto& [address, value] : constants.Writes(end))
      registers.insert(registers.end(), {address, value});
  }
  KILN_RETURN_IF_ERROR(WriteFile(before, content));
  std::vector<uint64_t> words;
  for (const hardware::StreamPlace& stream : streams)
    words.insert(words.end(), {stream.address, stream.beats});
  std::vector<std::string> arguments = {program.string(),
                                        "--memory",
                                        before.string(),
                                        "--result",
                                        after.string(),
                                        "--run",
                                        fmt::format("{}", fmt::join(words, ","))};
  if (!registers.empty())
    arguments.insert(arguments.end(), {"--set", fmt::format("{}", fmt::join(registers, ","))});
  arguments.insert(arguments.end(), more.begin(), more.end());
  RtlOptions named = options;
  named.memory_latency = StreamMemoryOf(options)->latency;
  for (std::string& argument : MemoryArguments(named, options.seed))
    arguments.push_back(std::move(argument));
  wave.AppendTo(&arguments);
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  KILN_ASSIGN_OR_RETURN(const std::string memory, ReadFile(after));
  MemoryRun run;
  for (const hardware::StreamPlace& stream : std::span(streams).subspan(in.size())) {
    const uint64_t bytes = stream.beats * static_cast<uint64_t>(stream.beat_bytes);
    if (stream.address + bytes > memory.size())
      return absl::InternalError(fmt::format("{}: it ends before the output", after.string()));
    const auto first = memory.begin() + static_cast<ptrdiff_t>(stream.address);
    run.out.emplace_back(first, first + static_cast<ptrdiff_t>(bytes));
  }
  KILN_ASSIGN_OR_RETURN(run.printed, ReadFile(log));
  return run;
}

StatusOr<std::unique_ptr<StreamSimulation>> StreamSimulation::Build(const RtlOptions& options,
                                                                    hardware::RtlProject project,
                                                                    int split, bool trace) {
  auto simulation = std::make_unique<StreamSimulation>();
  std::filesystem::path folder = options.folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-rtl"));
    folder = made.path();
    simulation->temporary_.emplace(std::move(made));
  }
  if (StreamMemoryOf(options).has_value()) {
    const hardware::Bus& in = project.description->buses[0];
    simulation->in_bytes_ = hardware::FindSignal(in, "tdata")->bits / 8;
    hardware::AddSoc({}, split, &project);
    project = hardware::RtlProject(*project.soc);
  }
  KILN_RETURN_IF_ERROR(hardware::WriteRtlProject(project, folder));
  KILN_ASSIGN_OR_RETURN(
      simulation->program_,
      hardware::BuildSimulation(folder, {.trace = trace, .netlist = options.netlist}));
  return simulation;
}

namespace {

// Returns the number behind the last `name` in what a simulation has printed; -1: there is none.
int64_t PrintedNumber(const std::string& text, std::string_view name) {
  std::istringstream words(text);
  int64_t number = -1;
  for (std::string word; words >> word;) {
    if (word == name) words >> number;
  }
  return number;
}

}  // namespace

StatusOr<StreamSimulation::Result> StreamSimulation::Run(std::span<const uint8_t> in,
                                                         const std::vector<size_t>& beats,
                                                         int out_bytes, const RtlOptions& options,
                                                         const RecordedCycles& wave) const {
  if (in_bytes_ > 0) return RunWithMemory(in, beats, out_bytes, options, wave);
  const size_t all_beats = std::accumulate(beats.begin(), beats.end(), size_t{0});
  KILN_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Create("kiln-stream"));
  const auto sent = folder.path() / "in", taken = folder.path() / "out",
             times = folder.path() / "times", log = folder.path() / "log";
  KILN_RETURN_IF_ERROR(WriteFile(sent, std::string(in.begin(), in.end())));
  std::vector<std::string> arguments = {program_.string(),
                                        "--memory",
                                        sent.string(),
                                        "--result",
                                        taken.string(),
                                        "--times",
                                        times.string(),
                                        "--beats",
                                        fmt::format("{}", all_beats),
                                        "--seed",
                                        fmt::format("{}", options.seed),
                                        "--stalls",
                                        fmt::format("{}", options.stall_probability)};
  if (options.most_cycles > 0) {
    arguments.insert(arguments.end(), {"--limit", fmt::format("{}", options.most_cycles)});
  }
  wave.AppendTo(&arguments);
  KILN_RETURN_IF_ERROR(RunProgram(arguments, log));
  KILN_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(taken));
  if (bytes.size() != all_beats * static_cast<size_t>(out_bytes)) {
    return absl::InternalError(fmt::format("{}: {} bytes, not {} beats of {}", taken.string(),
                                           bytes.size(), all_beats, out_bytes));
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  KILN_ASSIGN_OR_RETURN(const std::string cycles, ReadFile(times));
  Result result{.bytes = {bytes.begin(), bytes.end()},
                .beat_cycles = std::vector<int64_t>(all_beats),
                .trace = StreamTrace(PrintedNumber(text, "cycles"), {}, {})};
  if (cycles.size() != all_beats * sizeof(int64_t))
    return absl::InternalError(fmt::format("{}: not {} cycles", times.string(), all_beats));
  std::memcpy(result.beat_cycles.data(), cycles.data(), cycles.size());
  if (result.trace.cycles < 0) return absl::InternalError(log.string() + ": no result in it");
  result.trace.units[0].busy_cycles = PrintedNumber(text, "in.busy");
  result.trace.units[1].busy_cycles = PrintedNumber(text, "out.busy");
  result.trace.units[0].bytes_read = std::ssize(in);
  result.trace.units[1].bytes_written = std::ssize(bytes);
  return result;
}

StatusOr<StreamSimulation::Result> StreamSimulation::RunWithMemory(
    std::span<const uint8_t> in, const std::vector<size_t>& beats, int out_bytes,
    const RtlOptions& options, const RecordedCycles& wave) const {
  std::vector<hardware::StreamPlace> streams = {
      {.beats = in.size() / static_cast<size_t>(in_bytes_), .beat_bytes = in_bytes_}};
  for (const size_t count : beats) streams.push_back({.beats = count, .beat_bytes = out_bytes});
  KILN_ASSIGN_OR_RETURN(const MemoryRun run,
                        RunBehindMemory(program_, streams, {in}, options, wave));
  Result result{
      .bytes = {},
      .beat_cycles = {},
      .trace = StreamTrace(PrintedNumber(run.printed, "cycles"), {streams[0].beats, in_bytes_},
                           {std::accumulate(beats.begin(), beats.end(), size_t{0}), out_bytes})};
  if (result.trace.cycles < 0)
    return absl::InternalError("the simulation behind memory prints no cycles");
  for (const std::vector<uint8_t>& stream : run.out)
    result.bytes.insert(result.bytes.end(), stream.begin(), stream.end());
  return result;
}

Trace StreamTrace(int64_t cycles, StreamBeats in, StreamBeats out) {
  Trace trace;
  trace.cycles = cycles;
  trace.units.resize(2);
  trace.units[0].name = "in";
  trace.units[0].busy_cycles = static_cast<int64_t>(in.beats);
  trace.units[0].bytes_read = trace.units[0].busy_cycles * in.bytes;
  trace.units[1].name = "out";
  trace.units[1].busy_cycles = static_cast<int64_t>(out.beats);
  trace.units[1].bytes_written = trace.units[1].busy_cycles * out.bytes;
  trace.units[0].transfers = trace.units[1].transfers = true;
  return trace;
}

}  // namespace kiln
