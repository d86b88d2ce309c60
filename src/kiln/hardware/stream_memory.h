// A machine with streams behind memory: the same machine with one AXI4 master that reads what goes
// into its streams and stores what comes out (rtl/bus/kiln_stream_memory.sv), with registers, and
// with the driver in C. It is a project of its own in the folder soc/ of the machine's project.
#ifndef KILN_HARDWARE_STREAM_MEMORY_H_
#define KILN_HARDWARE_STREAM_MEMORY_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
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

// Software reaches the registers of the machine itself, on the bus `machine`, at this address and
// above, behind those of `control`.
inline constexpr uint32_t kMachineRegisters = 0x1000;

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

// What a machine reads from memory through ports of its own, for instance weights.
struct PortConstants {
  std::string file;                // of the project, with the bytes
  std::span<const uint8_t> bytes;  // that lie behind the streams, from a multiple of 4096 on
  // A register of the machine, of two words: the address of byte `offset`.
  struct Base {
    uint32_t address = 0;
    uint64_t offset = 0;
  };
  std::vector<Base> bases;
  uint32_t start = 0;  // the register that software then writes 1 to

  // Returns the registers and values that software writes, in order, once the bytes are in memory
  // from `address` on. The registers are those of the bus `machine`, from kMachineRegisters on.
  std::vector<std::pair<uint32_t, uint32_t>> Writes(uint64_t address) const;
};

// Sets project->soc to the machine behind memory. `project` is complete but for the sample. With
// `split` above 0 the last byte of a beat of the one stream out is the number of its stream, of
// `split`, and the beats of each of them are stored apart (kiln_stream_split). The project has a
// guide if `project` has one. Its design has no buses but streams, at most one AXI4-Lite slave,
// which becomes the bus `machine`, and AXI4 masters that only read, which stay as they are and read
// `constants`. With `observed`, the signals that testbenches of the machine
// observe are ports of its top, too: `pushed`, a bit for each channel between stages, and
// `highest`, 32 bits for each; the testbench then says when words enter channels.
void AddSoc(const StreamSample& sample, int split, RtlProject* project, bool observed = false,
            const PortConstants& constants = {});

}  // namespace kiln::hardware

#endif  // KILN_HARDWARE_STREAM_MEMORY_H_
