// The data that a network runs on: samples for each of its inputs, read from files or made up.
// frontend/data_set.h reads the files; this header matches their arrays to the network's inputs.
#ifndef KILN_FLOW_IMAGES_H_
#define KILN_FLOW_IMAGES_H_

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

// The source of images (samples of any kind) and their preprocessing.
struct ImageSettings {
  // A file, or a folder of .npy files or of images; empty: `random` images.
  std::filesystem::path path;
  DataOptions options;
  // Preprocessing as text or as a YAML file (data_preprocess.h). Keys that it does not name have
  // the values of the model's metadata, or those of the identity if there are none. "none" and
  // "none,..." ignore the metadata.
  std::string preprocess;
  // Number of made-up samples (frontend/random_samples.h), for timing without data.
  int64_t random = 0;
  bool given() const { return !path.empty() || random > 0; }
};

// Returns the files that a command reads by these settings; some may not exist. Commands must not
// overwrite them.
std::vector<std::filesystem::path> FilesOf(const ImageSettings& settings);

// A data set for each input of one network, with readers that convert samples to inputs.
struct Images {
  std::shared_ptr<const DataSet> set;  // of the first input; it holds the labels
  std::vector<InputReader> readers;    // one per input, in the network's order
  std::string preprocess;
  // The model's own preprocessing, if it supplies keys that --preprocess does not name.
  std::string own_preprocess = {};
  std::string source = {};  // the file or folder, or "random noise"
  // An fp32 input takes values that are stored as uint8, without a scale, mean or std.
  bool pixels_as_stored = false;
  bool labels_named = false;            // the labels are those of --labels
  std::vector<std::string> notes = {};  // remarks on the data for the user
  int64_t size() const { return set->size(); }
  // Returns images [first, first + count) as one tensor per input, joined by BatchShape. Errors: a
  // file of a folder of images that cannot be read or does not fit.
  StatusOr<std::vector<Tensor>> MakeBatch(int64_t first, int64_t count) const;
};

// Opens the data that the settings name, for the network.
//   one fp32 input            any data file, or a folder of images, preprocessed. In an archive,
//                             the array with the input's name, else x, images, data, or the first
//                             array.
//   other inputs              an .npz archive or a folder of .npy files with one array per input,
//                             of the input's name and type; the first axis is the samples. A file
//                             of one array serves a network with one input. Arrays of uint8 for
//                             fp32 inputs are images and are preprocessed.
//   errors                    those of the readers; an input without an array; arrays or labels
//                             that do not fit; no data (NoData)
StatusOr<Images> OpenImages(const ImageSettings& settings, const Graph& network);

// Returns the preprocessing of images that the settings and the model's metadata state, with or
// without data; the identity if there is none.
StatusOr<Preprocess> StatedPreprocess(const ImageSettings& settings, const Graph& network);

// Returns an error of one line: what the network takes, and which options name it. Made-up samples
// are not suggested if `labels` are needed.
Status NoData(const Graph& network, bool labels = false);

// Adds notes about preprocessing: which of the model's own keys apply beside --preprocess; and that
// pixels enter the network as they are stored if neither names any preprocessing, which is rarely
// what a trained network expects.
void NotePreprocess(const ImageSettings& settings, const Graph& network, const Images& images,
                    std::vector<std::string>* notes);

}  // namespace kiln

#endif  // KILN_FLOW_IMAGES_H_
