#include "polykern/net/load/child_server.h"

#include <cerrno>
#include <csignal>
#include <fstream>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "polykern/core/error.h"

namespace polykern {
namespace {

/// Up to the end of the line, or of the output.
std::string ReadOutputLine(int descriptor) {
  std::string line;
  char c = 0;
  for (;;) {
    const ssize_t got = read(descriptor, &c, 1);
    if (got < 0 && errno == EINTR) continue;
    if (got != 1 || c == '\n') return line;
    line += c;
  }
}

}  // namespace

ChildServer::ChildServer(const std::string& program, std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error("a pipe for a server cannot be created");
  const pid_t parent = getpid();
  process_ = fork();
  if (process_ == 0) {  // only calls that are safe after a fork
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && dup2(ends[1], STDOUT_FILENO) >= 0) {
      execv(program.c_str(), argv.data());
    }
    _exit(127);
  }
  close(ends[1]);
  output_ = ends[0];
  const std::string line = process_ > 0 ? ReadOutputLine(output_) : "";
  const std::string begin = "listening on ";
  const std::size_t end = line.find(": ", begin.size());
  if (line.starts_with(begin) && end != std::string::npos) {
    address_ = line.substr(begin.size(), end - begin.size());
    return;
  }
  close(output_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
  throw Error("the server did not start");
}

ChildServer::~ChildServer() {
  kill(process_, SIGTERM);
  while (!ReadOutputLine(output_).empty()) {
  }
  close(output_);
  waitpid(process_, nullptr, 0);
}

std::size_t ChildServer::Memory() const {
  std::ifstream file("/proc/" + std::to_string(process_) + "/statm");
  std::size_t all = 0;
  std::size_t resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double ChildServer::Work() const {
  std::ifstream file("/proc/" + std::to_string(process_) + "/stat");
  std::string field;
  std::getline(file, field, ')');  // the name, which may hold blanks
  for (int i = 3; i < 14; ++i) file >> field;
  double user = 0;
  double system = 0;
  file >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace polykern
