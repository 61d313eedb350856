//! `linkwork render`.

use crate::command::{Folder, linkwork};

/// Width, height and pixels of a picture.
fn read(file: &str) -> (usize, usize, Vec<[u8; 3]>) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let pixels = bytes[..info.buffer_size()].chunks(3).map(|p| [p[0], p[1], p[2]]).collect();
    (info.width as usize, info.height as usize, pixels)
}

#[test]
fn a_ball_is_where_it_should_be() {
    let folder = Folder::new();
    let (scene, png) = (folder.name("ball.toml"), folder.name("ball.png"));
    let text = "gravity = [0, 0, -10]\n[[bodies]]\nname = \"other\"\nkind = \"static\"\nposition = [4, 0, 0]\n\
                shapes = [{ geometry = { box = { size = [1, 1, 1] } } }]\n\
                [[bodies]]\nname = \"ball\"\nshapes = [{ geometry = { sphere = { radius = 1 } } }]\n";
    std::fs::write(&scene, text).unwrap();
    linkwork(&["render", &scene, "--png", &png, "--size", "320x200", "--from", "0,-1,0"]).exits_with(0);
    let (width, height, pixels) = read(&png);
    assert_eq!((width, height), (320, 200));
    // blue is the second colour of bodies; what does not move is grey
    let is_blue = |p: &[u8; 3]| f64::from(p[2]) > 1.3 * f64::from(p[0]);
    let columns: Vec<usize> = (0..pixels.len()).filter(|&k| is_blue(&pixels[k])).map(|k| k % width).collect();
    let (first, last) = (*columns.iter().min().unwrap(), *columns.iter().max().unwrap());
    // from -1 to 4.5 m the ball takes 2 of 5.5 m on the left
    let rows: Vec<usize> = (0..pixels.len()).filter(|&k| is_blue(&pixels[k])).map(|k| k / width).collect();
    let (across, down) = (last - first + 1, rows.iter().max().unwrap() - rows.iter().min().unwrap() + 1);
    let filled = columns.len() as f64 / (across * down) as f64;
    assert!((filled - std::f64::consts::FRAC_PI_4).abs() < 0.02, "an ellipse fills π/4 of its box, not {filled}");
    assert!(last < width / 2 && across > 320 / 5, "{first} {last}");
    // a second later it has fallen by 5 m, and the picture shows both
    linkwork(&["render", &scene, "--png", &png, "--at", "1", "--size", "320x200", "--from", "0,-1,0"]).exits_with(0);
    let (_, _, later) = read(&png);
    let rows = |pixels: &[[u8; 3]]| (0..pixels.len()).filter(|&k| is_blue(&pixels[k])).map(|k| k / 320).min().unwrap();
    assert!(rows(&later) > 100, "{}", rows(&later));
}

#[test]
fn every_scene_gives_a_picture_that_is_not_blank() {
    let folder = Folder::new();
    for entry in linkwork_scenes::all() {
        let png = folder.name("scene.png");
        linkwork(&["render", entry.name, "--png", &png, "--size", "240x135"]).exits_with(0);
        let (_, _, pixels) = read(&png);
        let mut colours = pixels.clone();
        colours.sort_unstable();
        colours.dedup();
        let background = pixels.iter().filter(|p| **p == pixels[0]).count();
        assert!(
            colours.len() > 50 && background < pixels.len() * 99 / 100,
            "{}: {} colours",
            entry.name,
            colours.len()
        );
    }
}

#[test]
fn wrong_use_is_refused() {
    let folder = Folder::new();
    let png = folder.name("a.png");
    let refused = |more: &[&str], says: &str| {
        linkwork(&[&["render", "four-bar", "--png", &png], more].concat()).exits_with(2).says(says);
    };
    refused(&["--at", "-1"], "before the start");
    refused(&["--at", "soon"], "not a number");
    refused(&["--size", "10x10"], "16 to 8192");
    refused(&["--size", "wide"], "960x540");
    refused(&["--from", "0,0,0"], "length is zero");
    refused(&["--from", "1,2"], "three");
    refused(&["--dt", "0"], "does not move time forward");
    linkwork(&["render", "four-bar"]).exits_with(2).says("--png");
    linkwork(&["render", "nothing", "--png", &png]).exits_with(2).says("there is no scene");
    let tape = folder.name("a.lwr");
    linkwork(&["run", "four-bar", "--duration", "0.1", "--record", &tape]).exits_with(0);
    linkwork(&["render", &tape, "--png", &png]).exits_with(2).says("is a recording").says("linkwork view");
    linkwork(&["render", "four-bar", "--png", "/no/such/folder/a.png"]).exits_with(2).says("does not exist");
}
