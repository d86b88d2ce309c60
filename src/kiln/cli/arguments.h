// Options that several commands share, declared once.
#ifndef KILN_CLI_ARGUMENTS_H_
#define KILN_CLI_ARGUMENTS_H_

#include <filesystem>
#include <initializer_list>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cli/flow.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kiln::cli {

// Whether an option of the command, or of one of its groups, stands on the command line.
bool IsGiven(const CLI::App& app, const std::string& option);

// --shape: sizes of symbolic dimensions and shapes of inputs.
class ShapeArguments {
 public:
  void Declare(CLI::App& app);
  // Error: not NAME=128 or NAME=1x128; a name that is given twice.
  StatusOr<Shapes> Get() const;

 private:
  std::vector<std::string> texts_;
};

// --data, --labels, --data-format, --data-shape, --preprocess, --random.
class DataArguments {
 public:
  void Declare(CLI::App& app);
  bool given() const { return !path_.empty() || random_ > 0; }
  // Error: without --data, an option that says how a file of images is read. Not asked where --calibrate names a file,
  // which is read in the same way.
  Status CheckFileToRead() const;
  StatusOr<ImageSettings> Settings() const;

 private:
  std::string path_, labels_, shape_, preprocess_;
  std::string format_ = "auto";
  int64_t random_ = 0;
};

// --calibrate, --calibration-images.
class CalibrationArguments {
 public:
  void Declare(CLI::App& app);
  int64_t images() const { return images_; }
  // Calibration images, read as `data` is (format and preprocessing); an empty path when --calibrate is not given.
  ImageSettings Settings(const ImageSettings& data) const;

 private:
  std::string calibrate_;
  int64_t images_ = 0;
};

// --quantise and those of calibration.
class QuantiseArguments : public CalibrationArguments {
 public:
  // `default_meaning` says in the help what happens without --quantise.
  void Declare(CLI::App& app, const std::string& default_meaning);
  using CalibrationArguments::Declare;                   // without --quantise
  const std::string& recipe() const { return recipe_; }  // empty if the option is not given
  bool recipe_given() const;

 private:
  const CLI::Option* option_ = nullptr;
  std::string recipe_;
};

// The whole of FlowOptions but `evaluate`: model, --on, --no-host, those of data and quantisation.
class FlowArguments {
 public:
  struct Wording {
    std::string accelerator = "The accelerator: a YAML file or a name (kiln list accelerators)";
    bool accelerator_required = true;
    bool has_recipe =
        true;  // false: the command has no --quantise, only the options of calibration
  };
  void Declare(CLI::App& app, const Wording& wording);
  bool images_given() const { return data_.given(); }
  // Error where no images are named: what the network takes, read for the purpose, and how to name it.
  Status CheckImagesGiven() const;
  // Where none are named, options.images is empty.
  StatusOr<FlowOptions> Options() const;

 private:
  std::string model_, accelerator_;
  bool no_host_ = false;
  ShapeArguments shapes_;
  DataArguments data_;
  QuantiseArguments quantise_;
};

// The error of a command that needs data and has none: what the network takes, and how to name it (NoData).
Status NoDataFor(const std::filesystem::path& model, const Shapes& shapes, bool labels = false);

// --top-k: how many of the highest scores a label may be among.
void DeclareTopK(CLI::App& app, int* k);
// --node-nm: the CMOS node that areas and energies are stated at.
void DeclareNode(CLI::App& app, int* node_nm);

// "3x32x32". Error: not of that form.
StatusOr<Shape> ParseShape(const std::string& text, std::string_view option);

// Whether the output file `path` ("" and "-" aside) can stand where it is to: makes folders and file, and removes again
// what was not there. Called before long work, so that it is not in vain.
Status CheckOutput(const std::string& path);
// Of each; and that no two are one file, and none is one of the `inputs`. Empty ones are not given.
Status CheckOutputs(std::initializer_list<std::string> paths,
                    std::span<const std::filesystem::path> inputs = {});
// Error where standard output, "-", is named for what only goes to files.
Status CheckIsFile(std::string_view option, const std::string& path);
// Whether files can be written in the folder, which may have to be made; "": it is not given.
Status CheckOutputFolder(const std::string& folder);

// Makes the folder that an output file stands in.
Status MakeFolderOf(const std::string& path);
// Writes the file and makes the folder that it stands in. Called when there is something to write, so that a command
// that fails leaves nothing behind.
Status WriteOutput(const std::string& path, std::string_view bytes);
// A command's results: `json` where --json says (`path`; "-": standard output, "": nowhere), and `text` on standard
// output where that is not taken.
Status WriteResults(std::ostream& out, const std::string& path, std::string_view text,
                    std::string_view json);

}  // namespace kiln::cli

#endif  // KILN_CLI_ARGUMENTS_H_
