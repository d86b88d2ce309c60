// The file of --outputs: what a network computed, as an .npz archive.
//
// An output NAME is the array ArrayNameOf(NAME) (frontend/array_names.h): values in the output's own type (bf16, which
// NumPy lacks, as f32), first axis images. With codes, a quantised output has also
//   <array>.codes       the codes that the accelerator wrote, of the values' shape
//   <array>.scale       f32: one for the tensor (a scalar), one for each index of an axis, or one for each block where
//                       blocks have scales of their own; none where they follow from the elements
//   <array>.zero_point  i32, as many
// An output whose shape depends on the data has an array for each image: <array>.0, <array>.1, ... (<array>.0.codes),
// of the shape that it has for that image.
// so that value = scale * (code - zero_point) in integer formats. ArrayNameOf leaves no dot in a name, so that no
// output is mistaken for another one's codes.
#ifndef KILN_CLI_OUTPUTS_H_
#define KILN_CLI_OUTPUTS_H_

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

class OutputsFile {
 public:
  OutputsFile(std::filesystem::path path, bool codes)
      : path_(path), codes_(codes), writer_(std::move(path)) {}

  // Names the outputs. `quantised`: the network as the accelerator takes it, whose outputs are the network's in order;
  // null at the reference level. Error: an output of strings.
  Status Describe(const Graph& network, const Graph* quantised);
  // Appends the next images, of `total` in all.
  //   outputs, codes  one tensor for each output, first axis images; `codes` is empty where there are none
  //   errors          an output whose shape depends on the data and is another one than before
  Status Add(std::span<const Tensor> outputs, std::span<const Tensor> codes, int64_t total);
  // Writes the file, all at once.
  Status Finish();
  // What is in it, for the report.
  void Report(RunReport* report) const;

 private:
  struct Output {
    std::string name, array;
    std::optional<Quantisation> quantisation;
    std::optional<size_t> values, codes;  // arrays of the writer
    RunReport::WrittenOutput described;
    Shape first, first_codes;  // of the first images
    int64_t images = 0;        // that were appended
    int rank = -1;             // of an image of an output whose shape depends on the data; else -1
  };
  Status Begin(Output& output, const Tensor& values, const Tensor* codes, int64_t total);
  // Adds one image of an output whose shape depends on the data.
  Status AddImage(Output& output, const Tensor& values, const Tensor* codes);
  Status AddScales(const Output& output);

  std::filesystem::path path_;
  bool codes_;
  NpzWriter writer_;
  std::vector<Output> outputs_;
};

}  // namespace kiln

#endif  // KILN_CLI_OUTPUTS_H_
