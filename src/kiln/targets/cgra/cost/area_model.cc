// The features of each module's area model as functions of its parameters, and the models fitted
// to them (area_coefficients.inc).

#include "kiln/targets/cgra/cost/area_model.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "kiln/hardware/area_features.h"
#include "kiln/support/integer.h"

namespace kiln::cgra {
namespace {

using hardware::Always;
using hardware::Features;
using hardware::Real;
using Fitted = hardware::Fits;
using Parameters = hardware::ModuleParameters;

bool HasFloats(const Parameters& p) { return p.Number("FLOATS", 0) != 0; }
bool HasIntegers(const Parameters& p) { return !HasFloats(p); }

Features LaneFeatures(const Parameters&, const Fitted&) { return {{"lanes", 1}}; }

// A choice among lines and memories in every bit, and among delays in control.
Features OperandFeatures(const Parameters& p, const Fitted&) {
  const int64_t bits = 32 * p.Number("LANES", 2), lines = p.Number("LINES", 5);
  const int64_t span = p.Number("SPAN", 8);
  return {{"bits", Real(bits)},
          {"bits of all lines", Real(bits * lines)},
          {"places of all lines", Real(lines * span)}};
}

// Valid bits and threads of the earlier messages in registers, and the place that is written next,
// which wraps early unless the entries are a power of two. The messages are in memories.
Features DelayLineFeatures(const Parameters& p, const Fitted&) {
  const int64_t entries = p.Number("WAIT_LIMIT", 7) + 1, places = CeilLog2(entries);
  return {{"control bits", Real((entries - 1) * (p.Number("THREAD_BITS", 5) + 1))},
          {"place bits", Real(places)},
          {"place bits that wrap early", IsPowerOfTwo(entries) ? 0 : Real(places)}};
}

// The data of all links are the same: one register for each tile of the longest link but the last,
// which is the receiver's.
Features LinkFeatures(const Parameters& p, const Fitted&) {
  const int64_t reach = p.Number("REACH", 2);
  return {{"data bits", Real((reach - 1) * p.Number("WIDTH", 64))},
          {"control bits", Real(reach * (p.Number("THREAD_BITS", 5) + 1))}};
}

// The sum of base and thread.
Features TileMemoryFeatures(const Parameters& p, const Fitted&) {
  const int64_t address = CeilLog2(p.Number("DEPTH", 512));
  const int64_t added = std::min(address, p.Number("THREAD_BITS", 5));
  return {{"added bits", Real(added)}, {"carried bits", Real(address - added)}};
}

// Fetch, the choice of the master among the messages of all lines that lead to the tile, and the
// pipeline's control.
Features TileFeatures(const Parameters& p, const Fitted&) {
  const int64_t reach = p.Number("REACH", 2), all = (int64_t{1} << (2 * reach)) - 1;
  const int64_t lines = 1 + std::popcount(static_cast<uint64_t>(p.Number("PRESENT", all)));
  const int64_t thread_bits = CeilLog2(p.Number("RING", 16));
  const int64_t places = lines * (p.Number("WAIT_LIMIT", 7) + 1);
  return {{"tiles", 1},
          {"places of lines, valid bits and threads", Real(places * (thread_bits + 1))},
          {"control bits", Real(3 * (4 + 2 * reach + thread_bits))}};
}

Features DispatchFeatures(const Parameters& p, const Fitted&) {
  return {{"dispatches", 1},
          {"lanes", Real(p.Number("LANES", 2))},
          {"thread bits", Real(CeilLog2(p.Number("RING", 16)))}};
}

Features SequencerFeatures(const Parameters& p, const Fitted&) {
  return {{"sequencers", 1}, {"thread bits", Real(CeilLog2(p.Number("RING", 16)))}};
}

// A choice among all tiles before each queue, the choice among queues, and the count of threads.
Features OutputsFeatures(const Parameters& p, const Fitted&) {
  const int64_t bits = 32 * p.Number("LANES", 2), outputs = p.Number("OUTPUTS", 4);
  return {{"bits of all tiles and outputs", Real(bits * outputs * p.Number("TILES", 4))},
          {"bits of all outputs", Real(bits * outputs)},
          {"bits", Real(bits)},
          {"place bits", Real(outputs * CeilLog2(p.Number("DEPTH", 16)))},
          {"units", 1}};
}

// Two beats, each with a bit for every byte, and one for the last beat.
Features StreamFeatures(const Parameters& p, const Fitted&) {
  return {{"bits of a beat", Real(9 * p.Number("DATA_BYTES", 8) + 1)}, {"registers", 1}};
}

const std::vector<hardware::ModuleModel>& ModuleModels() {
  static const std::vector<hardware::ModuleModel> models = {
      {"lane of integers", "kiln_cgra_lane", "", HasIntegers, LaneFeatures},
      {"lane with binary32", "kiln_cgra_lane", "", HasFloats, LaneFeatures},
      {"operand", "kiln_cgra_operand", "", Always, OperandFeatures},
      {"delay line", "kiln_cgra_delay_line", "", Always, DelayLineFeatures},
      {"link", "kiln_cgra_link", "", Always, LinkFeatures},
      {"tile memory", "kiln_cgra_tile_memory", "", Always, TileMemoryFeatures},
      {"tile control", "kiln_cgra_tile",
       "kiln_cgra_delay_line kiln_cgra_operand kiln_cgra_tile_memory kiln_cgra_lane "
       "kiln_cgra_link",
       Always, TileFeatures},
      {"dispatch", "kiln_cgra_dispatch", "", Always, DispatchFeatures},
      {"sequencer", "kiln_cgra_sequencer", "", Always, SequencerFeatures},
      {"outputs", "kiln_cgra_outputs", "", Always, OutputsFeatures},
      {"stream in", "kiln_axi_stream_register", "", Always, StreamFeatures},
  };
  return models;
}

const Fitted& FittedModels() {
  static const Fitted fitted = {
#include "kiln/targets/cgra/cost/area_coefficients.inc"
  };
  return fitted;
}

}  // namespace

hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

}  // namespace kiln::cgra
