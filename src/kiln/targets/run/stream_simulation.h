// The simulation of a machine with one AXI4-Stream input and one AXI4-Stream output. It is built
// from the machine's project and runs rtl/testbench/kiln_stream_testbench.cc. With a memory in the
// options it is the simulation of the same machine behind memory (hardware/stream_memory.h), which
// runs rtl/testbench/kiln_memory_testbench.cc.
#ifndef KILN_TARGETS_RUN_STREAM_SIMULATION_H_
#define KILN_TARGETS_RUN_STREAM_SIMULATION_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/hardware/axi_port_model.h"
#include "kiln/hardware/key_table.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/stream_memory.h"
#include "kiln/support/process.h"
#include "kiln/support/status.h"
#include "kiln/targets/interface/accelerator.h"
#include "kiln/targets/interface/trace.h"
#include "kiln/targets/run/recorded_cycles.h"

namespace kiln {

// Sets a project's top module, its testbench and the header design.h. The top, kiln_accelerator,
// has one instance of `module` with these parameters. `in_bytes` and `out_bytes` are the widths of
// the streams in bytes.
void SetStreamTop(std::string_view module, const std::vector<hardware::RtlParameter>& parameters,
                  int in_bytes, int out_bytes, hardware::RtlProject* project);

// Returns the memory that the options name behind a stream machine, without stalls. nullopt: they
// name none, and the streams begin and end outside of the machine.
std::optional<hardware::AxiTiming> StreamMemoryOf(const RtlOptions& options);

// What one run of a machine behind memory left.
struct MemoryRun {
  std::vector<std::vector<uint8_t>> out;  // by stream out of the machine: its beats
  std::string printed;                    // by the simulation
};
// Performs one run of `program`, the simulation of a machine behind memory
// (rtl/testbench/kiln_memory_testbench.cc). `streams` has the streams into the machine, then those
// out of it, without addresses: they follow each other in memory. `in` has the beats of the former.
// `constants` is what the machine reads through ports of its own (hardware::PortConstants), behind
// the streams. The options name the memory; `more` is further arguments. Errors: the simulation
// fails or takes longer than options.most_cycles.
StatusOr<MemoryRun> RunBehindMemory(const std::filesystem::path& program,
                                    std::vector<hardware::StreamPlace> streams,
                                    const std::vector<std::span<const uint8_t>>& in,
                                    const RtlOptions& options, const RecordedCycles& wave,
                                    const std::vector<std::string>& more = {},
                                    const hardware::PortConstants& constants = {});

// A built simulation of a stream machine.
class StreamSimulation {
 public:
  // Builds the simulation of a project whose top SetStreamTop has set. Writes it to options.folder,
  // or, if that is empty, to a temporary folder that is removed with this object. If the options
  // name a memory, it simulates the machine behind memory, which stores its stream out as `split`
  // streams (hardware::AddSoc). With `trace` it can record waveforms. Errors: those of
  // hardware::WriteRtlProject; Verilator or clang++-19 is missing.
  static StatusOr<std::unique_ptr<StreamSimulation>> Build(const RtlOptions& options,
                                                           hardware::RtlProject project,
                                                           int split = 0, bool trace = false);

  // The bytes of the output stream, the cycle of each of its beats, counted from the first input
  // beat, and the trace: the cycles from the first input beat to the last output beat, and a unit
  // for each stream, "in" and "out", whose busy cycles are its beats.
  //
  // Behind memory the cycles are those from the start to the end of a run, in which all bytes of
  // the output have been stored. The bytes are those of the streams of `split`, one stream after
  // the other, and the beats have no cycles.
  struct Result {
    std::vector<uint8_t> bytes;
    std::vector<int64_t> beat_cycles;
    Trace trace;
  };
  // Sends `in` and receives beats of `out_bytes` bytes, as many as `beats` says; for each stream of
  // `split` one number. The streams, or the channels of the memory, stall with the probability in
  // `options`, and registers have random initial values. `wave` counts from the cycle of the first
  // input beat, or from the start of the run. Errors: the simulation fails or takes longer than
  // options.most_cycles.
  StatusOr<Result> Run(std::span<const uint8_t> in, const std::vector<size_t>& beats, int out_bytes,
                       const RtlOptions& options, const RecordedCycles& wave = {}) const;

 private:
  StatusOr<Result> RunWithMemory(std::span<const uint8_t> in, const std::vector<size_t>& beats,
                                 int out_bytes, const RtlOptions& options,
                                 const RecordedCycles& wave) const;

  int in_bytes_ = 0;  // of a beat, of the machine behind memory; 0: without memory
  std::optional<TemporaryFolder> temporary_;
  std::filesystem::path program_;
};

// A stream's beats, and the bytes of one.
struct StreamBeats {
  size_t beats = 0;
  int bytes = 0;
};
// Returns the trace of a machine that has received `in` and sent `out`. Its units are "in" and
// "out".
Trace StreamTrace(int64_t cycles, StreamBeats in, StreamBeats out);

}  // namespace kiln

#endif  // KILN_TARGETS_RUN_STREAM_SIMULATION_H_
