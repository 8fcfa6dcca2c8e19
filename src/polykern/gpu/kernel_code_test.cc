#include "polykern/gpu/kernel_code.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "polykern/io/checksum.h"
#include "polykern/io/folder_testing.h"

namespace polykern::gpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// An environment variable, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (had_) {
      setenv(name_, before_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool had_ = false;
  std::string before_;
};

class KeptCode : public testing::Test {
 protected:
  struct Loaded final : Program {
    explicit Loaded(std::string from) : code(std::move(from)) {}
    std::string code;
  };

  /// What the device has in the end; it takes no code that begins with "foreign".
  std::string CodeOf(const std::string& source, const std::string& architecture = "sm_90",
                     const std::string& compiler = "a compiler") {
    const auto compile = [&](const std::string& text, const std::string& target) {
      compiled_.push_back(text + " for " + target);
      return "code of " + text;
    };
    const auto load = [](const std::string& code) -> std::shared_ptr<const Program> {
      if (code.starts_with("foreign") || code.starts_with("code of foreign")) return nullptr;
      return std::make_shared<Loaded>(code);
    };
    const auto program = LoadKernels(source, architecture, {compiler, compile}, load);
    return static_cast<const Loaded&>(*program).code;
  }
  void Keep(const std::string& code) {
    std::string text;
    for (const std::byte byte : Sha256(std::as_bytes(std::span(code)))) {
      text += "0123456789abcdef"[std::to_integer<unsigned>(byte) / 16];
      text += "0123456789abcdef"[std::to_integer<unsigned>(byte) % 16];
    }
    std::ofstream(Files().front()) << text << code;
  }
  std::vector<std::filesystem::path> Files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    return files;
  }

  const TestFolder folder_;
  const Variable cache_{"XDG_CACHE_HOME", folder_.path()};
  std::vector<std::string> compiled_;
};

TEST_F(KeptCode, IsCompiledOnce) {
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_THAT(compiled_, ElementsAre("a for sm_90"));
}

TEST_F(KeptCode, IsOfOneSourceAndOneArchitecture) {
  CodeOf("a");
  EXPECT_EQ(CodeOf("b"), "code of b");
  CodeOf("a", "sm_80");
  EXPECT_THAT(compiled_, ElementsAre("a for sm_90", "b for sm_90", "a for sm_80"));
  EXPECT_EQ(Files().size(), 3U);
}

TEST_F(KeptCode, ThatIsDamagedIsCompiledAnew) {
  CodeOf("a");
  ASSERT_EQ(Files().size(), 1U);
  for (const std::string& damage :
       {std::string("short"), std::string(64, 'f') + "code of a", std::string()}) {
    std::ofstream(Files().front()) << damage;
    EXPECT_EQ(CodeOf("a"), "code of a");
  }
  EXPECT_EQ(compiled_.size(), 4U);
  CodeOf("a");
  EXPECT_EQ(compiled_.size(), 4U);
}

TEST_F(KeptCode, IsOfOneCompiler) {
  CodeOf("a");
  CodeOf("a", "sm_90", "a compiler with other options");
  EXPECT_EQ(compiled_.size(), 2U);
  EXPECT_EQ(Files().size(), 2U);
}

TEST_F(KeptCode, ThatTheDeviceDoesNotTakeIsCompiledAnewOnce) {
  CodeOf("a");
  ASSERT_EQ(Files().size(), 1U);
  Keep("foreign code");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_EQ(compiled_.size(), 2U);
}

TEST_F(KeptCode, IsNeverWhatTheDeviceDoesNotTake) {
  const std::string message = MessageOf([&] { CodeOf("foreign"); });
  EXPECT_THAT(message, HasSubstr("the GPU (sm_90) does not take the code of a compiler: install"));
  EXPECT_TRUE(Files().empty());
}

TEST_F(KeptCode, TakesThePlaceOfAnythingElse) {
  CodeOf("a");
  ASSERT_EQ(Files().size(), 1U);
  const std::filesystem::path path = Files().front();
  std::filesystem::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);  // reading it would wait for ever
  CodeOf("a");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CodeOf("a");
  EXPECT_EQ(compiled_.size(), 3U);
  CodeOf("a");
  EXPECT_EQ(compiled_.size(), 3U);
}

TEST_F(KeptCode, NeedsNoFolderThatCanBeWritten) {
  std::ofstream(folder_.path() + "/file") << "no folder";
  const Variable nowhere("XDG_CACHE_HOME", folder_.path() + "/file");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_EQ(compiled_.size(), 2U);
}

TEST_F(KeptCode, LiesInTheHomeFolderByDefault) {
  const Variable none("XDG_CACHE_HOME", "");
  const Variable home("HOME", folder_.path());
  CodeOf("a");
  ASSERT_EQ(Files().size(), 1U);
  EXPECT_THAT(Files().front().string(), HasSubstr("/.cache/polykern/kernels/sm_90-"));
}

TEST_F(KeptCode, IsNowhereWithoutAHomeFolder) {
  const Variable none("XDG_CACHE_HOME", "");
  const Variable home("HOME", "");
  EXPECT_EQ(CodeOf("a"), "code of a");
  EXPECT_TRUE(Files().empty());
}

TEST(KernelSource, BeginsWithItsShape) {
  KernelShape shape;
  shape.threads = 256;
  shape.dimension = 14;
  shape.kernels = 51;
  shape.features = 20;
  shape.per_upload = 25;
  shape.private_weights = true;
  const std::string source = SourceFor(shape);
  EXPECT_THAT(source, HasSubstr("constexpr unsigned kDimension = 14;\n"));
  EXPECT_THAT(source, HasSubstr("constexpr unsigned kStride = 16;\n"));
  EXPECT_THAT(source, HasSubstr("constexpr bool kPrivateWeights = 1;\n"));
  EXPECT_THAT(source, HasSubstr("constexpr bool kHuberLoss = 0;\n"));
  EXPECT_LT(source.find("kPrivateWeights = 1"), source.find("struct FleetArguments"));
  for (const char* kernel :
       {"MakeSamples", "FindPresent", "PredictKernels", "LearnLabels", "AddUpdates", "AddLosses",
        "FinishGaps", "GatherStates", "MeasureLabels", "MultiplyAdds", "SinesAndCosines"}) {
    EXPECT_THAT(source, HasSubstr("KERNEL(" + std::string(kernel) + ")"));
  }
}

TEST(KernelSource, HasPofGramWhereItIsWanted) {
  KernelShape shape;
  shape.dimension = 14;
  EXPECT_THAT(SourceFor(shape), testing::Not(HasSubstr("#define WITH_GRAM")));
  shape.sizes = 5;
  EXPECT_THAT(SourceFor(shape), HasSubstr("#define WITH_GRAM\n"));
  EXPECT_THAT(SourceFor(shape), HasSubstr("constexpr unsigned kSizes = 5;\n"));
}

TEST(KernelSource, IncludesNothing) {
  EXPECT_EQ(SourceFor({}).find("#include"), std::string::npos);
}

TEST(KernelSource, DiffersForOtherShapes) {
  KernelShape one;
  KernelShape other;
  other.checks_angles = true;
  EXPECT_NE(SourceFor(one), SourceFor(other));
  EXPECT_EQ(SourceFor(one), SourceFor(KernelShape()));
}

}  // namespace
}  // namespace polykern::gpu
