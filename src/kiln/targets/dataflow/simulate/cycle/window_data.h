// The window of a stage as the hardware holds it: for each word of a pixel the columns that were
// inserted last.
#ifndef KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_WINDOW_DATA_H_
#define KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_WINDOW_DATA_H_

#include <cstdint>
#include <vector>

#include "kiln/targets/dataflow/isa/derived.h"
#include "kiln/targets/dataflow/isa/pipeline.h"

namespace kiln::dataflow {

// Reads the words of one image in the order of the inserter and gives the reader's steps their
// windows (docs/dataflow-machine.md, "Window").
class WindowData {
 public:
  WindowData(const Pipeline& pipeline, const Stage& stage, const std::vector<int64_t>& image);

  // Begins an output pixel; returns false after the last. Inserts the columns before its steps.
  bool NextPixel();
  // Returns the elements [ky][kx][lane] of word `word` of the pixel. Inserts it if `insert`.
  const std::vector<int64_t>& Word(int64_t word, bool insert);

 private:
  void Insert(int64_t word);
  int64_t CodeAt(int64_t y, int64_t x, int64_t channel) const;

  const Window& window_;
  const MapShape map_;
  const int64_t lanes_, words_;  // of a word; of a pixel
  const WindowLoops loops_;
  const std::vector<int64_t>& image_;
  // By word of a pixel: [column, oldest first][ky][lane].
  std::vector<std::vector<int64_t>> contexts_;
  std::vector<int64_t> elements_;
  int64_t row_set_ = 0, column_ = 0, inserted_ = 0;  // the inserter's position
  int64_t out_y_ = 0, out_x_ = -1;
};

}  // namespace kiln::dataflow

#endif  // KILN_TARGETS_DATAFLOW_SIMULATE_CYCLE_WINDOW_DATA_H_
