// Reads the original's test vectors of its GEMM unit as program vectors. A vector is a JSON object
// with one GEMM instruction (`inst`: reset, uop_begin, uop_end, lp_0, lp_1 and the increments
// acc_*, inp_*, wgt_*) and the buffer contents: `uop`, `inp`, `wgt` and `acc_i` before, `acc_o`
// after. Buffers are lists of {"idx": index, "vec": numbers}, all in hex digits, signed numbers in
// two's complement. (VTA's Chisel hardware, src/test/resources and TensorGemmJsonTest.)
//
// The resulting program loads the buffers, runs the instruction, and stores all bytes of the
// accumulators, which must equal those of `acc_o`.
#ifndef KILN_TARGETS_VTA_ISA_GEMM_VECTOR_H_
#define KILN_TARGETS_VTA_ISA_GEMM_VECTOR_H_

#include <filesystem>

#include "kiln/support/json_reader.h"
#include "kiln/support/status.h"
#include "kiln/targets/vta/isa/program_vector.h"

namespace kiln::vta {

// Returns whether `json` has the keys `inst`, `acc_i` and `acc_o`.
bool IsGemmVector(const Json& json);
// Parses a vector. Block sizes follow from the lengths of `vec`; widths and the number of elements
// per buffer are the original's default. Errors name the file and the key: a key is missing, a
// number is not hex digits or too large, indices are out of order, no batch and blocks have these
// lengths, or there are more elements than a buffer holds.
StatusOr<ProgramVector> ParseGemmVector(const Json& json, const std::filesystem::path& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_ISA_GEMM_VECTOR_H_
