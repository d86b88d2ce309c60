// The file of --outputs: the values that a network computed, as an .npz archive.
//
// Output NAME becomes the array ArrayNameOf(NAME) (frontend/array_names.h). It holds values in the
// output's own type (bf16, which NumPy lacks, as f32); the first axis is the images. With --codes,
// a quantised output also has the following arrays, so that value = scale * (code - zero_point) in
// integer formats:
//   <array>.codes       the accelerator's codes, in the shape of the values
//   <array>.scale       f32: one scale for the tensor (a scalar array), one per index of an axis,
//                       or one per block with stored scales; absent if scales follow from the
//                       elements
//   <array>.zero_point  i32: as many as scales
// An output with a shape that depends on the data has one array per image: <array>.0, <array>.1,
// ... (<array>.0.codes), each in the shape of that image. ArrayNameOf leaves no dot in a name, so
// the names of codes never collide with those of outputs.
#ifndef KILN_FLOW_OUTPUTS_H_
#define KILN_FLOW_OUTPUTS_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/frontend/npz_writer.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/report/run_report.h"
#include "kiln/support/status.h"

namespace kiln {

// Collects outputs chunk by chunk and writes them at the end.
class OutputsFile {
 public:
  // Prepares a file at `path`; nothing exists there before Finish.
  OutputsFile(std::filesystem::path path, bool codes)
      : path_(path), codes_(codes), writer_(std::move(path)) {}

  // Sets the names and types of the outputs. `quantised` is the network as the accelerator takes
  // it, with outputs in the same order; null at the reference level.
  //   errors  an output of strings
  Status Describe(const Graph& network, const Graph* quantised);
  // Appends the next images of `total` images.
  //   outputs, codes  one tensor per output, first axis images; `codes` is empty if there are none
  //   errors          an output with a data-dependent shape that differs from its earlier shape
  Status Add(std::span<const Tensor> outputs, std::span<const Tensor> codes, int64_t total);
  // Writes the file.
  Status Finish();
  // Describes the file's contents in the report.
  void Report(RunReport* report) const;

 private:
  // One output and its state.
  struct Output {
    std::string name, array;
    std::optional<Quantisation> quantisation;
    std::optional<size_t> values, codes;  // indices of the writer's arrays
    RunReport::WrittenOutput described;
    Shape first, first_codes;  // shapes of the first chunk
    int64_t images = 0;        // images appended so far
    int rank = -1;             // rank of an image if its shape depends on the data, else -1
  };
  // Adds the output's arrays on the first chunk.
  Status Begin(Output& output, const Tensor& values, const Tensor* codes, int64_t total);
  // Adds one image of an output with a data-dependent shape.
  Status AddImage(Output& output, const Tensor& values, const Tensor* codes);
  // Adds the arrays of scales and zero points.
  Status AddScales(const Output& output);

  std::filesystem::path path_;
  bool codes_;
  NpzWriter writer_;
  std::vector<Output> outputs_;
};

}  // namespace kiln

#endif  // KILN_FLOW_OUTPUTS_H_
