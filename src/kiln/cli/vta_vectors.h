// Commands of `kiln vta` that run vectors, which stand in files and folders: exec and replay.
#ifndef KILN_CLI_VTA_VECTORS_H_
#define KILN_CLI_VTA_VECTORS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/cli/command.h"
#include "kiln/targets/vta/counters.h"
#include "kiln/targets/vta/json_reader.h"
#include "kiln/targets/vta/program_vector.h"

namespace kiln::cli {

// The most steps of a launch that commands take unless told otherwise; seconds on this machine, ten of a machine at
// 100 MHz.
inline constexpr uint64_t kVtaSteps = 1'000'000'000;
// --max-steps
void DeclareVtaSteps(CLI::App& app, uint64_t* steps);

class VectorsCommand {
 protected:
  // What came of one vector.
  struct Outcome {
    std::string name, configuration;
    std::string what;                       // behind "pass"
    std::optional<std::string> difference;  // nullopt: it passes
    std::optional<vta::RunTime> time;  // where it was counted, of a program that came to its end
  };
  struct Kind {
    std::function<bool(const vta::Json& json)> is_one;
    std::string what;  // "files of format vta-vector-1"
  };
  using RunOne =
      std::function<StatusOr<Outcome>(const vta::Json& json, const std::filesystem::path& file)>;

  void DeclareFiles(CLI::App& app, const char* what);
  // Whether one file is named and nothing else.
  bool IsOneFile() const;
  // Has `run` say what came of each file of the kind and prints all. What a folder holds beside them is left out;
  // what is named has to be one. An error of a file that is named ends the command; of one in a folder it is what came
  // of it, unless the file before had the same, which is then of neither and ends the command, too. `how`: ", in 10
  // orders of the stages"; `output`: a file that `run` writes. Error: vectors fail.
  Status RunEach(Context& context, const Kind& kind, const RunOne& run, const std::string& how,
                 const std::string& output = "") const;

 private:
  struct Row {
    std::string file;
    Outcome outcome;
  };
  bool IsNamed(const std::filesystem::path& file) const;
  Status Report(Context& context, const std::vector<Row>& rows, const std::string& how) const;

  std::vector<std::string> arguments_;
  std::string json_;
};

class ExecCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  std::optional<std::string> RunOrders(const vta::ProgramVector& vector) const;
  StatusOr<Outcome> RunCycles(const vta::ProgramVector& vector, Outcome one) const;
  StatusOr<Outcome> RunHardware(const vta::ProgramVector& vector, vta::RtlDesigns& designs,
                                Outcome one) const;

  // Options that this level passes over.
  Status CheckHeeded() const;
  StatusOr<vta::ProgramVector> Read(const vta::Json& json, const std::filesystem::path& file,
                                    const std::optional<vta::Config>& machine) const;

  const CLI::App* app_ = nullptr;
  std::string level_ = "functional", trace_, designs_, machine_;
  int orders_ = 10;
  uint64_t most_steps_ = kVtaSteps;
};

class ReplayCommand : public VectorsCommand {
 public:
  void Declare(CLI::App& app);
  Status Run(Context& context) const;

 private:
  std::string device_ = "functional";
};

}  // namespace kiln::cli

#endif  // KILN_CLI_VTA_VECTORS_H_
