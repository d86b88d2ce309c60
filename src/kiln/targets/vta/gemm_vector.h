// The original's own test vectors of its GEMM unit, as program vectors: a JSON object with one GEMM instruction
// (`inst`: reset, uop_begin, uop_end, lp_0, lp_1 and the steps acc_*, inp_*, wgt_*) and what the buffers hold, `uop`,
// `inp`, `wgt` and `acc_i` before, `acc_o` after: lists of {"idx": place, "vec": numbers}, all as hex digits, of signed
// numbers their two's complement. (VTA's Chisel hardware, src/test/resources and TensorGemmJsonTest.)
//
// The program loads the buffers, runs the instruction, and stores all bytes of the accumulators, those of `acc_o` being
// what has to stand there.
#ifndef KILN_TARGETS_VTA_GEMM_VECTOR_H_
#define KILN_TARGETS_VTA_GEMM_VECTOR_H_

#include <filesystem>

#include "kiln/support/status.h"
#include "kiln/targets/vta/json_reader.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::vta {

bool IsGemmVector(const Json& json);
// Sizes of blocks follow from the lengths of `vec`; widths, and how many
// elements buffers hold, are the original's default. Errors name the file
// and the key: missing, no digits, a number that is too large, places out of order, lengths that no batch and blocks
// have, more elements than a buffer holds.
StatusOr<ProgramVector> ParseGemmVector(const Json& json, const std::filesystem::path& file);

}  // namespace kiln::vta

#endif  // KILN_TARGETS_VTA_GEMM_VECTOR_H_
