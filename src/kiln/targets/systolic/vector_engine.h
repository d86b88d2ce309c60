// Executes vector programs over ranges of rows, stage by stage on pieces of some hundred values that stay in the
// first-level cache. Bits do not depend on the pieces, the processor level or the number of threads.
#ifndef KILN_TARGETS_SYSTOLIC_VECTOR_ENGINE_H_
#define KILN_TARGETS_SYSTOLIC_VECTOR_ENGINE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "kiln/targets/systolic/isa.h"
#include "kiln/targets/systolic/numbers.h"
#include "kiln/targets/systolic/vector_kernels.h"

namespace kiln::systolic {

// One program with what follows from it. Rows are numbered in the order of the outer loops. Several threads may run
// disjoint rows at once. The program must have passed CheckInstruction for a memory that `memory` below is as large as.
class VectorEngine {
 public:
  VectorEngine(const VectorProgram& program,
               const Numbers& numbers);  // both must outlive the engine

  int64_t rows() const { return rows_; }
  int64_t length() const { return program_->length; }

  // Runs rows [first, first + count). `accumulators` (null without Source::kAccumulator) holds those rows' sums, its
  // row 0 being row `first`.
  void Run(int64_t first, int64_t count, const AccumulatorRows* accumulators,
           uint8_t* memory) const;

 private:
  // Where a stream's rows lie: at base + row * step when the outer loops step evenly, else by index.
  struct Rows {
    const Stream* stream = nullptr;
    bool linear = false;
    int64_t step = 0;
    bool dense_elements = false;  // element_stride is the element's size
    bool dense_rows =
        false;  // and each row begins where the last one ended; never with block scales
  };
  struct Scratch;
  // A piece of work: rows [row, row + rows) and columns [first, first + columns) of them; several rows only when whole.
  struct Piece {
    int64_t row = 0, rows = 1;
    int64_t first = 0, columns = 0;
    int64_t count() const { return rows * columns; }
  };

  Rows RowsOf(const Stream& stream) const;
  std::array<int64_t, kOuterLoops> IndexOf(int64_t row) const;
  int64_t WordsPiece() const;
  int64_t ScaleAddressOf(const Stream& stream, int64_t row) const;  // of the first block of a row
  int64_t AddressOf(const Rows& rows, int64_t row) const;
  // `count` dense elements from `from` on with one factor, rounded to the vector format.
  void LoadDense(const Stream& stream, float factor, const uint8_t* from, int64_t count,
                 float* out) const;
  // The same with the block scales that begin at `scales`, whose first block holds element `first` of the row.
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
  int64_t piece_;          // values of a piece: whole blocks of the output
  int64_t rows_ = 1;
  std::vector<Rows> operands_;
  Rows output_;
};

}  // namespace kiln::systolic

#endif  // KILN_TARGETS_SYSTOLIC_VECTOR_ENGINE_H_
