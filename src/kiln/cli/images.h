// The data that a network runs on: samples for each of its inputs, from files or made up.
#ifndef KILN_CLI_IMAGES_H_
#define KILN_CLI_IMAGES_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kiln/frontend/data_input.h"
#include "kiln/frontend/data_set.h"
#include "kiln/ir/graph.h"
#include "kiln/ir/tensor.h"
#include "kiln/support/status.h"

namespace kiln {

// Where images (samples of any kind) come from and what happens to them.
struct ImageSettings {
  std::filesystem::path path;  // a file, or a folder of .npy files; empty: `random` images
  DataOptions options;
  // Text or YAML file (data_preprocess.h). Keys that it does not name, all where it is empty, are those of the model's
  // metadata, and without any the identity's; "none" or "none,..." does without the metadata.
  std::string preprocess;
  int64_t random =
      0;  // this many made-up samples (frontend/random_samples.h), for timing without data
  bool given() const { return !path.empty() || random > 0; }
};

// The files that a command reads by these settings, for what must not be written over; some need not be there.
std::vector<std::filesystem::path> FilesOf(const ImageSettings& settings);

// A data set for each input of one network, with the way into it.
struct Images {
  std::shared_ptr<const DataSet> set;  // of the first input; it has the labels
  std::vector<InputReader> readers;    // one for each input, in the network's order
  std::string preprocess;
  std::string own_preprocess =
      {};  // the model's, where a part of it stands beside what ImageSettings::preprocess names
  std::string source = {};              // the file or folder, or "random noise"
  bool pixels = false;                  // whether an fp32 input takes what is stored as uint8
  std::vector<std::string> notes = {};  // what the user should know of the data
  int64_t size() const { return set->size(); }
  // Images [first, first + count): one tensor for each input, joined by BatchShape.
  std::vector<Tensor> MakeBatch(int64_t first, int64_t count) const;
};

// Opens what the settings name for the network.
//   one fp32 input            any data file, preprocessed; in an archive the array of the input's name, else x, images,
//                             data or the first
//   other inputs              an .npz archive or a folder of .npy files with an array of each input's name, of the
//                             input's type, first axis samples; a file of one array serves a network with one input.
//                             Arrays of uint8 for fp32 inputs are images and are preprocessed
// Errors: whatever the readers say; an input without an array; arrays or labels that do not fit; no data (NoData).
StatusOr<Images> OpenImages(const ImageSettings& settings, const Graph& network);

// One line: what the network takes, and which options name it; made-up samples are none where `labels` are needed.
Status NoData(const Graph& network, bool labels = false);

// Says in `notes` what of the model's own preprocessing stands beside that of --preprocess, and that pixels go into the
// network as they are stored, where neither has a word on it: trained networks rarely take them so.
void NotePreprocess(const ImageSettings& settings, const Graph& network, const Images& images,
                    std::vector<std::string>* notes);

}  // namespace kiln

#endif  // KILN_CLI_IMAGES_H_
