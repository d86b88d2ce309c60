// Sizes of the machine that follow from the keys of a design point. The RTL computes the same sizes
// from its parameters; the names in capitals are those of rtl/vta. A test compares the two.
//
// Config's members give the bytes and numbers of elements and the widths of their indices.
#ifndef KILN_TARGETS_VTA_CONFIG_DERIVED_H_
#define KILN_TARGETS_VTA_CONFIG_DERIVED_H_

#include <algorithm>
#include <cstdint>

#include "kiln/hardware/axi_port.h"
#include "kiln/support/integer.h"
#include "kiln/targets/vta/config/config.h"

namespace kiln::vta {

// Constants of kiln_vta_pkg.
inline constexpr int kAddressBits = 32;       // ADDRESS_BITS
inline constexpr int kInstructionBits = 128;  // INSTRUCTION_BITS
inline constexpr int kNumberBits = 32;        // NUMBER_BITS: an instruction's number in its launch
inline constexpr int kElementBits = 16;       // ELEMENT_BITS: an element's index in any buffer
inline constexpr int kReadTagBits = kNumberBits + kElementBits + 9;  // READ_TAG_BITS
inline constexpr int kWriteTagBits = kNumberBits + 2;                // WRITE_TAG_BITS

// Returns the bits of a micro-op, which holds an index of accumulators, one of inputs (or
// accumulators) and one of weights. A valid design point needs at most 32.
int UopBits(const Config& config);

// Return the position of the bit after the last field of a GEMM or ALU instruction, in which no
// field crosses bit 64. A valid design point needs at most 128 bits. isa/isa.h has the field
// positions.
int GemmInstructionBits(const Config& config);
int AluInstructionBits(const Config& config);

// Returns the bytes of the read port's longest request, an element or an instruction: MAX_BYTES.
inline int64_t LongestRequestBytes(const Config& c) {
  return std::max({c.input_element_bytes(), c.weight_element_bytes(), c.accumulator_element_bytes(),
                   int64_t{kInstructionBits / 8}});
}
// Returns the width in bits of a request's number of bytes: BYTES_BITS.
inline int RequestBytesBits(const Config& c) { return CeilLog2(LongestRequestBytes(c) + 1); }

// Returns the number of requests that a memory port of this latency can have in flight: OUTSTANDING
// of the read port and of the write port.
inline constexpr int64_t OutstandingRequests(int64_t memory_latency) { return memory_latency + 2; }

// Returns the cycles from an address to its first beat in an ideal memory behind the port.
inline int AnswerCycles(const Config& c) { return c.memory_latency - kAxiPortLatency; }

// Return the bits of an entry of a stage's instruction queue: the instruction and its number.
// Entries of the compute stage's queue also hold the banks that the instruction loads.
inline constexpr int kQueueWordBits = kInstructionBits + kNumberBits;
inline int ComputeQueueWordBits(const Config& c) { return kQueueWordBits + c.accumulator_banks; }

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_CONFIG_DERIVED_H_
