// Executes vector programs over ranges of rows, stage by stage, on pieces of a few hundred values
// that stay in the first-level cache. The bits do not depend on the pieces, the CPU level or the
// number of threads.
#ifndef KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_ENGINE_H_
#define KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_ENGINE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/isa/isa.h"
#include "kiln/targets/systolic/simulate/functional/vector_kernels.h"
#include "kiln/targets/systolic/simulate/numbers.h"

namespace kiln::systolic {

// A vector program and the facts derived from it. Rows are numbered in the order of the outer
// loops. Several threads may run disjoint rows at the same time. The program must have passed
// CheckInstruction for a memory of the size of `memory` below.
class VectorEngine {
 public:
  VectorEngine(const VectorProgram& program,
               const Numbers& numbers);  // both must outlive the engine

  int64_t rows() const { return rows_; }
  int64_t length() const { return program_->length; }

  // Runs rows [first, first + count). `accumulators` (null without Source::kAccumulator) holds the
  // sums of these rows; its row 0 is row `first`.
  void Run(int64_t first, int64_t count, const AccumulatorRows* accumulators,
           uint8_t* memory) const;

 private:
  // The addresses of a stream's rows: base + row * step if the outer loops have even steps,
  // otherwise computed from the indices.
  struct Rows {
    const Stream* stream = nullptr;
    bool linear = false;
    int64_t step = 0;
    bool dense_elements = false;  // element_stride is the element's size
    bool dense_rows =
        false;  // and each row begins where the previous one ended; never with block scales
  };
  struct Scratch;
  // A piece of work: columns [first, first + columns) of rows [row, row + rows). A piece of several
  // rows has whole rows.
  struct Piece {
    int64_t row = 0, rows = 1;
    int64_t first = 0, columns = 0;
    int64_t count() const { return rows * columns; }
  };

  Rows RowsOf(const Stream& stream) const;
  std::array<int64_t, kOuterLoops> IndexOf(int64_t row) const;
  int64_t WordsPiece() const;
  int64_t ScaleAddressOf(const Stream& stream, int64_t row) const;  // of a row's first block
  int64_t AddressOf(const Rows& rows, int64_t row) const;
  // Loads `count` dense elements from `from` with one factor, rounded to the vector format.
  void LoadDense(const Stream& stream, float factor, const uint8_t* from, int64_t count,
                 float* out) const;
  // Loads the same with block scales. The scales begin at `scales`, and the piece begins with
  // element `first` of the row.
  void LoadBlocks(const Stream& stream, const uint8_t* from, const uint8_t* scales, int64_t first,
                  int64_t count, float* out) const;
  void LoadStream(const Rows& rows, const Piece& piece, const uint8_t* memory, float* out) const;
  void LoadWindow(const Piece& piece, const uint8_t* memory, Scratch& scratch, float* out) const;
  void LoadAccumulators(const AccumulatorRows& in, const Piece& piece, float* out) const;
  void StoreDense(const float* values, int64_t count, Scratch& scratch, uint8_t* to) const;
  void StoreStream(const Piece& piece, Scratch& scratch, uint8_t* memory) const;
  void RunPass(const Pass& pass, const Piece& piece, const AccumulatorRows* accumulators,
               int64_t accumulator_row, Scratch& scratch, uint8_t* memory) const;
  void RunStages(const std::vector<Stage>& stages, const Piece& piece, Scratch& scratch,
                 const uint8_t* memory) const;
  void RunRow(int64_t row, Scratch& scratch, uint8_t* memory) const;

  const VectorProgram* program_;
  const Numbers* numbers_;
  const VectorKernels* kernels_;
  int lanes_;
  int64_t element_bytes_;  // of the output
  int64_t piece_;          // values per piece: whole blocks of the output
  int64_t rows_ = 1;
  std::vector<Rows> operands_;
  Rows output_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_SIMULATE_FUNCTIONAL_VECTOR_ENGINE_H_
