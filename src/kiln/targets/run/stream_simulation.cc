// Builds the top module and the simulation of stream machines, and parses the simulation's output.

#include "kiln/targets/run/stream_simulation.h"

#include <cstring>
#include <sstream>
#include <utility>

#include "fmt/format.h"
#include "kiln/hardware/top_module.h"
#include "kiln/support/file.h"

namespace kiln {

void SetStreamTop(std::string_view module, const std::vector<hardware::RtlParameter>& parameters,
                  int in_bytes, int out_bytes, hardware::RtlProject* project) {
  project->testbench = {"kiln_stream_testbench.cc", "kiln_simulate_options.h",
                        "kiln_simulate_sample.h",   "kiln_simulate_wave.h",
                        "kiln_axi_memory.h",        "kiln_memory_timing.h"};
  hardware::TopModule top;
  top.comment = "The accelerator: one stream in, one out.";
  top.buses = {{"in", hardware::AxiStreamSinkSignals(in_bytes, /*packets=*/false)},
               {"out", hardware::AxiStreamSourceSignals(out_bytes, /*packets=*/false)}};
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

StatusOr<std::unique_ptr<StreamSimulation>> StreamSimulation::Build(
    const RtlOptions& options,
    const std::function<Status(const std::filesystem::path& folder)>& emit, bool trace) {
  if (options.dram_bytes_per_cycle > 0 || options.memory_latency > 0) {
    return ErrorAt("", "the memory", "is none: the machine has streams only",
                   "leave out the memory's latency and DRAM");
  }
  auto simulation = std::make_unique<StreamSimulation>();
  std::filesystem::path folder = options.folder;
  if (folder.empty()) {
    KILN_ASSIGN_OR_RETURN(TemporaryFolder made, TemporaryFolder::Create("kiln-rtl"));
    folder = made.path();
    simulation->temporary_.emplace(std::move(made));
  }
  KILN_RETURN_IF_ERROR(emit(folder));
  KILN_ASSIGN_OR_RETURN(
      simulation->program_,
      hardware::BuildSimulation(folder, {.trace = trace, .netlist = options.netlist}));
  return simulation;
}

StatusOr<StreamSimulation::Result> StreamSimulation::Run(std::span<const uint8_t> in, size_t beats,
                                                         int out_bytes, const RtlOptions& options,
                                                         const RecordedCycles& wave) const {
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
                                        fmt::format("{}", beats),
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
  if (bytes.size() != beats * static_cast<size_t>(out_bytes)) {
    return absl::InternalError(fmt::format("{}: {} bytes, not {} beats of {}", taken.string(),
                                           bytes.size(), beats, out_bytes));
  }
  KILN_ASSIGN_OR_RETURN(const std::string text, ReadFile(log));
  KILN_ASSIGN_OR_RETURN(const std::string cycles, ReadFile(times));
  Result result{.bytes = {bytes.begin(), bytes.end()},
                .beat_cycles = std::vector<int64_t>(beats),
                .trace = StreamTrace(-1, {}, {})};
  if (cycles.size() != beats * sizeof(int64_t))
    return absl::InternalError(fmt::format("{}: not {} cycles", times.string(), beats));
  std::memcpy(result.beat_cycles.data(), cycles.data(), cycles.size());
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "cycles") words >> result.trace.cycles;
    if (word == "in.busy") words >> result.trace.units[0].busy_cycles;
    if (word == "out.busy") words >> result.trace.units[1].busy_cycles;
  }
  if (result.trace.cycles < 0) return absl::InternalError(log.string() + ": no result in it");
  result.trace.units[0].bytes_read = std::ssize(in);
  result.trace.units[1].bytes_written = std::ssize(bytes);
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
