//! With the feature `mpi`: compiles the calls of MPI by its own compiler, which knows where it is, and links it.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=src/calls.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    link::compile_and_link()?;
    Ok(())
}

#[cfg(feature = "mpi")]
mod link {
    use std::error::Error;
    use std::process::Command;

    pub(super) fn compile_and_link() -> Result<(), Box<dyn Error>> {
        let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
        // MPICH and all that come from it know -show; so does Open MPI.
        let shown = Command::new(&compiler).arg("-show").output().map_err(|error| {
            format!(
                "{compiler}, the C compiler of MPI, cannot be run: {error}. Install MPI (Debian: libopenmpi-dev), or set MPICC"
            )
        })?;
        if !shown.status.success() {
            let words = String::from_utf8_lossy(&shown.stderr).into_owned();
            return Err(format!("{compiler} -show failed: {words}").into());
        }
        cc::Build::new().compiler(&compiler).file("src/calls.c").try_compile("firsttouch_mpi_calls")?;
        for word in String::from_utf8(shown.stdout)?.split_whitespace() {
            if let Some(folder) = word.strip_prefix("-L") {
                println!("cargo:rustc-link-search=native={folder}");
            } else if let Some(library) = word.strip_prefix("-l") {
                println!("cargo:rustc-link-lib={library}");
            }
        }
        Ok(())
    }
}
