// The inner kernels of convolution.h, for one processor level each. Only convolution.cc calls them.
//
// Tables are full (both signs), of 16 bits, in registers of 32 entries. A register holds the tables
// of 32 / 2^s groups, and two registers hold the table of a group of six. A code is the index of an
// entry in its register (or its pair of registers).
//
// Channels are in vectors of 32 lanes: lane 2i is channel i of the vector, lane 2i + 1 channel
// 16 + i, because sums of 16 bits are widened from even and odd lanes.
#ifndef KILN_TARGETS_BINARY_TABLES_LOOK_UP_H_
#define KILN_TARGETS_BINARY_TABLES_LOOK_UP_H_

#include <cstdint>

namespace kiln::binary::internal {

inline constexpr int kLanes = 32;        // entries of a register, and channels of a vector
inline constexpr int kBlockVectors = 2;  // most vectors of channels in a block
inline constexpr int kBlockSites = 8;    // most positions that a kernel computes at once
inline constexpr int kMaxShift = 14;

// Returns the channel of a vector that is in `lane`.
inline constexpr int ChannelOfLane(int lane) { return lane / 2 + (lane % 2) * kLanes / 2; }
// Returns how many tables of groups of `size` weights a register holds, and how many registers a
// table takes.
inline constexpr int TablesOfRegister(int size) { return size >= 5 ? 1 : kLanes >> size; }
inline constexpr int RegistersOfTable(int size) { return size == 6 ? 2 : 1; }
// Slots of activations behind one register (or pair). At most 16.
inline constexpr int SlotsOfRegister(int size) { return TablesOfRegister(size) * size; }

// Sums of up to kBlockSites positions by up to kBlockVectors vectors, added to `out`.
struct LookUpArguments {
  const int16_t* tables;
  const int64_t* sites;  // of each position: where its first site begins in `tables`
  const int64_t* steps;  // [step_count]: where the register of a step is, from there
  int64_t step_count;
  int64_t steps_per_flush;  // steps whose sums fit 16 bits
  const uint16_t* codes;    // [step][vector][lane]
  int shift;                // 0 .. kMaxShift; sums are added times 2^shift, modulo 2^32
  int32_t* out;             // [position][out_stride]: channels of the block in their order
  int64_t out_stride;
};

struct Kernels {
  // Writes (values >> shift) & mask in 16 bits, which must hold it.
  void (*narrow)(const int32_t* values, int64_t count, int shift, int32_t mask, int16_t* to);
  // Builds the tables of `registers` registers (pairs of them for groups of six). `slots` has
  // SlotsOfRegister(size) values for each, and may be read for 16 values more.
  void (*build)(int size, const int16_t* slots, int64_t registers, int16_t* tables);
  // Looks up `positions` (1 .. kBlockSites) by `vectors` (1 .. kBlockVectors).
  void (*look_up)(int size, int positions, int vectors, const LookUpArguments& arguments);
};

extern const Kernels kPortableKernels;
extern const Kernels kAvx512VnniKernels;  // look_up_avx512vnni.cc

}  // namespace kiln::binary::internal

#endif  // KILN_TARGETS_BINARY_TABLES_LOOK_UP_H_
