// The portable kernels of look_up.h.
#include "kiln/targets/binary/tables/look_up.h"

#include <algorithm>

namespace kiln::binary::internal {
namespace {

void Narrow(const int32_t* values, int64_t count, int shift, int32_t mask, int16_t* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<int16_t>(values[i] >> shift & mask);
}

// Entry e of a group's table is the sum in which x_j counts positive where bit j of e is 1.
void BuildTables(int size, const int16_t* slots, int64_t registers, int16_t* tables) {
  for (int64_t table = 0; table < registers * TablesOfRegister(size); ++table) {
    int16_t* entries = tables + (table << size);
    entries[0] = static_cast<int16_t>(-slots[0]);
    entries[1] = slots[0];
    for (int j = 1; j < size; ++j) {
      const int16_t x = slots[j];
      for (int e = 0; e < 1 << j; ++e) {
        entries[(1 << j) + e] = static_cast<int16_t>(entries[e] + x);
        entries[e] = static_cast<int16_t>(entries[e] - x);
      }
    }
    slots += size;
  }
}

void LookUpBlock(int /*size*/, int positions, int vectors, const LookUpArguments& args) {
  const int lanes = vectors * kLanes;
  for (int p = 0; p < positions; ++p) {
    uint32_t sums[kBlockVectors * kLanes] = {};
    const int16_t* site = args.tables + args.sites[p];
    for (int64_t s = 0; s < args.step_count; ++s) {
      const int16_t* table = site + args.steps[s];
      const uint16_t* codes = args.codes + s * lanes;
      for (int lane = 0; lane < lanes; ++lane) {
        sums[lane] += static_cast<uint32_t>(table[codes[lane]]);
      }
    }
    for (int lane = 0; lane < lanes; ++lane) {
      int32_t& out =
          args.out[p * args.out_stride + lane / kLanes * kLanes + ChannelOfLane(lane % kLanes)];
      out = static_cast<int32_t>(static_cast<uint32_t>(out) + (sums[lane] << args.shift));
    }
  }
}

}  // namespace

const Kernels kPortableKernels = {Narrow, BuildTables, LookUpBlock};

}  // namespace kiln::binary::internal
