// Decodes JPEG, PNG, PGM and PPM files, and lists the images of a folder. Private to the frontend.
#ifndef KILN_FRONTEND_DATA_IMAGE_H_
#define KILN_FRONTEND_DATA_IMAGE_H_

#include <filesystem>
#include <string_view>
#include <vector>

#include "kiln/frontend/data_readers.h"
#include "kiln/frontend/data_set.h"

namespace kiln::data {

// Returns true if the bytes begin as a JPEG or PNG file does.
bool IsJpeg(std::string_view bytes);
bool IsPng(std::string_view bytes);

// Reads one image file of any of the four kinds, which its content decides. The image is HxWx3
// (red, green, blue), or HxW for grey. 1 or 3 `channels` turn colours into grey or grey into
// colours, as Pillow's convert("L") and convert("RGB") do; 0 keeps the file's. Alpha is dropped.
//   errors  another kind, more than 8 bits per sample, damage, more pixels than the budget
StatusOr<DataSet::Parts> DecodeImage(const std::filesystem::path& path, int64_t channels);

// The images of a folder, with a label for each if the folder has one subfolder for each class.
struct ImageList {
  std::vector<std::filesystem::path> files;
  std::vector<int32_t> labels;
};
// Lists the images of a folder: those in it, by name, or those of its subfolders. A subfolder is a
// class, and the labels count the classes by name from 0. The first image of every class comes
// first, then the second, so that the first images of the list are of all classes.
//   errors  no images; images beside subfolders with images; a class without images; a kind of
//           image that is not read; more than `most` files
StatusOr<ImageList> ListImages(const std::filesystem::path& folder, int64_t most);

}  // namespace kiln::data

#endif  // KILN_FRONTEND_DATA_IMAGE_H_
