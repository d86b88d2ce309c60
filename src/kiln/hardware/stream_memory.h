// A machine with streams behind memory: the same machine with one AXI4 master that reads what goes
// into its streams and stores what comes out (rtl/bus/kiln_stream_memory.sv), with registers, and
// with the driver in C. It is a project of its own in the folder soc/ of the machine's project.
#ifndef KILN_HARDWARE_STREAM_MEMORY_H_
#define KILN_HARDWARE_STREAM_MEMORY_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/hardware/register_map.h"
#include "kiln/hardware/rtl_project.h"
#include "kiln/hardware/sample_run.h"

namespace kiln::hardware {

// The folder in the machine's project.
inline constexpr char kSocFolder[] = "soc";

// The data of a stream are at addresses that are multiples of this.
inline constexpr uint64_t kStreamAlignment = 4096;

// Bytes of a beat of the memory.
inline constexpr int kSocPortBytes = 16;

// The latency in cycles of the memory in simulations that name none
// (rtl/testbench/kiln_memory_testbench.cc).
inline constexpr uint64_t kSocLatency = 20;

// The beats of a stream in memory, one after the other.
struct StreamPlace {
  uint64_t beats = 0;
  int beat_bytes = 0;
  uint64_t address = 0;  // of the first byte
};
// Gives streams that follow each other in memory, from address 0 on, their addresses. Returns the
// bytes of memory that they take, at least a page each.
uint64_t PlaceStreams(std::vector<StreamPlace>* streams);

// Returns the registers of kiln_stream_control for streams of these names, into the machine and out
// of it. Software starts a run with the address and the number of beats of every stream.
RegisterMap StreamRegisters(std::span<const std::string> in, std::span<const std::string> out);

// What the machine sends and receives in the sample of its project.
struct StreamSample {
  SampleRun run;                // of streams; may be empty
  std::vector<uint64_t> beats;  // of each stream out
};

// Sets project->soc to the machine behind memory. `project` is complete but for the sample. With
// `split` above 0 the last byte of a beat of the one stream out is the number of its stream, of
// `split`, and the beats of each of them are stored apart (kiln_stream_split). The project has a
// guide if `project` has one. Its design has no buses but streams and at most one AXI4-Lite slave,
// which becomes the bus `machine`. With `observed`, the signals that testbenches of the machine
// observe are ports of its top, too: `pushed`, a bit for each channel between stages, and
// `highest`, 32 bits for each; the testbench then says when words enter channels.
void AddSoc(const StreamSample& sample, int split, RtlProject* project, bool observed = false);

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_STREAM_MEMORY_H_
