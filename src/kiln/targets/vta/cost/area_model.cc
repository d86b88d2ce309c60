// The features of each module's area model as functions of its parameters, and the models fitted
// to them (area_coefficients.inc).

#include "kiln/targets/vta/cost/area_model.h"

#include <algorithm>
#include <vector>

#include "kiln/hardware/area_features.h"
#include "kiln/support/integer.h"
#include "kiln/targets/vta/config/derived.h"

namespace kiln::vta {
namespace {

using hardware::Always;
using hardware::Features;
using hardware::Real;
using Fitted = hardware::Fits;
using Parameters = hardware::ModuleParameters;

// Features of kiln_vta_dot, which multiplies two rows of weights by one row of inputs. If two
// products share a multiplier (kiln_vta_product_pair), one operand consists of both weights, at a
// distance of one product.
Features Dot(const Parameters& p, const Fitted&) {
  const int64_t inputs = p.Number("INPUT_BITS", 8), weights = p.Number("WEIGHT_BITS", 8);
  const int64_t block = p.Number("BLOCK_IN", 16);
  constexpr int64_t kMultiplierBits = 25, kProducts = 2;
  const int64_t product = inputs + weights, sum = product + CeilLog2(block);
  const int64_t both = product + weights + 1;
  const bool shared = both <= kMultiplierBits;
  return {{"pairs of bits of shared multipliers", Real(shared ? block * inputs * both : 0)},
          {"pairs of bits of multipliers of their own",
           Real(shared ? 0 : kProducts * block * inputs * weights)},
          {"product register bits", Real(kProducts * block * product)},
          // Terms are added in carry-save form at the result's width; an adder joins the sum and
          // the carries.
          {"bits of added products", Real(kProducts * (block - 1) * sum)}};
}

// The widths in bits of a compute instruction's indices.
struct Indices {
  explicit Indices(const Parameters& p)
      : uops(p.Number("UOP_INDEX_BITS", 13)),
        inputs(p.Number("INPUT_INDEX_BITS", 11)),
        weights(p.Number("WEIGHT_INDEX_BITS", 10)),
        accumulators(p.Number("ACCUMULATOR_INDEX_BITS", 11)) {}
  int64_t sources() const { return std::max(inputs, accumulators); }
  int64_t all() const { return uops + sources() + weights + accumulators; }
  int64_t uops, inputs, weights, accumulators;
};

// Returns the number of numbers in an accumulator element.
int64_t Numbers(const Parameters& p) { return p.Number("BATCH", 1) * p.Number("BLOCK_OUT", 4); }

// Returns the bits of the longest element of inputs, weights and accumulators.
int64_t LongestElementBits(const Parameters& p) {
  const int64_t block_in = p.Number("BLOCK_IN", 4);
  return std::max({p.Number("BATCH", 1) * block_in * p.Number("INPUT_BITS", 8),
                   p.Number("BLOCK_OUT", 4) * block_in * p.Number("WEIGHT_BITS", 8),
                   Numbers(p) * p.Number("ACCUMULATOR_BITS", 32)});
}

Features Gemm(const Parameters& p, const Fitted&) {
  return {{"unit", 1},
          {"accumulator bits", Real(Numbers(p) * p.Number("ACCUMULATOR_BITS", 32))},
          {"index bits", Real(Indices(p).all())}};
}

Features Alu(const Parameters& p, const Fitted&) {
  const int64_t bits = p.Number("ACCUMULATOR_BITS", 32), numbers = p.Number("NUMBERS", 16);
  return {{"unit", 1},
          {"number bits", Real(numbers * bits)},
          // Only the lower half of a product is kept.
          {"pairs of bits of a product's lower half", Real(numbers * bits * (bits + 1) / 2)},
          {"index bits", Real(Indices(p).all())}};
}

Features Accumulators(const Parameters& p, const Fitted&) {
  const int64_t banks = p.Number("BANKS", 4), numbers = p.Number("NUMBERS", 16);
  const int64_t bits = numbers * p.Number("ACCUMULATOR_BITS", 32),
                outputs = numbers * p.Number("OUTPUT_BITS", 8);
  const int64_t row_bits = p.Number("INDEX_BITS", 11) - CeilLog2(banks);
  // Three readers and the store stage select each bank, and each bank selects one of three writers.
  constexpr int64_t kReaders = 3, kWriters = 3;
  return {{"places of banks", Real(banks * ((kReaders + kWriters - 1) * bits + outputs))},
          {"row bits of banks", Real(banks * row_bits)},
          {"element bits", Real(bits)}};
}

// Features of the compute stage without its units: dispatcher with examiner and scoreboard,
// retirement, loader, queues of the units, and the logic that words pass on their way to the
// buffers.
Features ComputeStage(const Parameters& p, const Fitted&) {
  return {{"stage", 1},
          {"index bits", Real(Indices(p).all())},
          {"banks", Real(p.Number("ACCUMULATOR_BANKS", 4))},
          {"word bits", Real(LongestElementBits(p))}};
}

// The widths of a port's beats and of its longest word.
struct Port {
  Port(int64_t port_bytes, int64_t word_bytes)
      : beat_bits(8 * port_bytes),
        word_bits(8 * CeilDivide(word_bytes, port_bytes) * port_bytes),
        offset_bits(CeilLog2(port_bytes)),
        count_bits(CeilLog2((word_bytes + 2 * port_bytes - 2) / port_bytes + 1)) {}
  int64_t beat_bits, word_bits;  // the word is extended to whole beats
  int64_t offset_bits, count_bits;
};

Features Reads(const Parameters& p, const Fitted&) {
  const Port port(p.Number("MEMORY_PORT_BYTES", 8), p.Number("MAX_BYTES", 256));
  const int64_t outstanding = OutstandingRequests(p.Number("MEMORY_LATENCY", 32));
  return {{"port", 1},
          {"word bits", Real(port.word_bits)},
          {"places of a beat", Real(port.beat_bits * port.offset_bits)},
          {"bits of requests under way",
           Real(outstanding * (1 + port.offset_bits + port.count_bits + kReadTagBits))}};
}

Features Writes(const Parameters& p, const Fitted&) {
  const Port port(p.Number("DATA_BYTES", 16), p.Number("MAX_BYTES", 16));
  const int64_t tag = p.Number("TAG_BITS", 8);
  return {{"port", 1},
          {"word bits", Real(port.word_bits)},
          {"places of a beat", Real(port.beat_bits * port.offset_bits)},
          {"bits of bursts under way", Real(p.Number("OUTSTANDING", 32) * (1 + tag))}};
}

Features Fetch(const Parameters& p, const Fitted&) {
  return {{"fetch", 1},
          {"index bits", Real(Indices(p).all())},
          {"banks", Real(p.Number("ACCUMULATOR_BANKS", 4))}};
}

Features LoadStage(const Parameters& p, const Fitted&) {
  return {{"stage", 1}, {"bits of a request's bytes", Real(p.Number("BYTES_BITS", 9))}};
}

Features StoreStage(const Parameters& p, const Fitted&) {
  return {{"stage", 1},
          {"address bits", Real(kAddressBits - CeilLog2(p.Number("OUTPUT_BYTES", 16)))}};
}

// Features of the rest of the machine: registers, control, tokens, counters, and the stages' queues
// without their memories.
Features Machine(const Parameters& p, const Fitted&) {
  const int64_t port = p.Number("MEMORY_PORT_BYTES", 8);
  const int64_t output_bits = Numbers(p) * p.Number("INPUT_BITS", 8);
  const int64_t longest_bits = std::max<int64_t>(LongestElementBits(p), kInstructionBits);
  return {{"machine", 1},
          {"bits of what counters add",
           Real(std::max(CeilLog2(longest_bits / 8 + 1), CeilLog2(output_bits / 8 + 2 * port)))}};
}

const std::vector<hardware::ModuleModel>& ModuleModels() {
  static const std::vector<hardware::ModuleModel> models = {
      {"products and their sums", "kiln_vta_dot", "", Always, Dot},
      {"GEMM without its products", "kiln_vta_gemm", "kiln_vta_dot", Always, Gemm},
      {"ALU", "kiln_vta_alu", "", Always, Alu},
      {"accumulators", "kiln_vta_accumulators", "", Always, Accumulators},
      {"compute stage without its units", "kiln_vta_compute_stage",
       "kiln_vta_gemm kiln_vta_alu kiln_vta_accumulators", Always, ComputeStage},
      {"reads", "kiln_vta_reads", "", Always, Reads},
      {"writes", "kiln_axi_write_port", "", Always, Writes},
      {"fetch", "kiln_vta_fetch", "", Always, Fetch},
      {"load stage", "kiln_vta_load_stage", "", Always, LoadStage},
      {"store stage", "kiln_vta_store_stage", "", Always, StoreStage},
      {"control", "kiln_vta",
       "kiln_vta_compute_stage kiln_vta_reads kiln_axi_write_port kiln_vta_fetch "
       "kiln_vta_load_stage "
       "kiln_vta_store_stage",
       Always, Machine},
  };
  return models;
}

const Fitted& FittedModels() {
  static const Fitted fitted = {
#include "kiln/targets/vta/cost/area_coefficients.inc"
  };
  return fitted;
}

}  // namespace

hardware::AreaModels FamilyAreaModels() { return {ModuleModels(), FittedModels()}; }

}  // namespace kiln::vta
