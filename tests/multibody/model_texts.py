"""Small models in MJCF and URDF, each with one thing that model files may have."""

from __future__ import annotations

ARM = """
<mujoco model="arm">
  <worldbody>
    <body name="upper" pos="0 0 1" euler="10 20 30">
      <joint name="shoulder" axis="0 1 0.3" pos="0 0 0.1" ref="0.2"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.05"/>
      <body name="lower" pos="0.4 0 0" euler="0 30 0">
        <joint name="slide" type="slide" axis="1 0 0.2"/>
        <geom type="box" size="0.2 0.05 0.03" pos="0.2 0 0"/>
        <body name="tool" pos="0.4 0 0" quat="0.9 0.1 0.2 0.3">
          <inertial pos="0.01 0.02 0.03" mass="0.3" fullinertia="2e-3 3e-3 4e-3 1e-4 2e-4 3e-4"/>
          <geom type="sphere" size="0.05" mass="0"/>
        </body>
        <body name="hand" pos="0.4 0 0.1">
          <joint name="wrist" type="ball"/>
          <geom type="ellipsoid" size="0.1 0.05 0.03" pos="0.1 0 0"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""

FREE = """
<mujoco>
  <worldbody>
    <body name="brick" pos="1 2 3" euler="40 50 60">
      <freejoint name="flies"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.05 0.01 0.02"/>
      <body name="flap" pos="0.1 0 0.3">
        <joint name="hinge" axis="0 1 0" armature="0.02" damping="0.3"/>
        <geom type="box" size="0.1 0.2 0.01" pos="0.1 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""

CHAINS = """
<mujoco>
  <worldbody>
    <body name="torso" pos="0 0 1">
      <joint name="root_x" type="slide" axis="1 0 0" armature="0.1"/>
      <joint name="root_z" type="slide" axis="0 0 1" ref="1"/>
      <joint name="root_y" axis="0 1 0" damping="0.2"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.5" size="0.07"/>
      <body name="thigh" pos="0 0.1 0" euler="5 0 0">
        <joint name="hip_x" axis="1 0 0" armature="0.01" damping="0.1" stiffness="3"/>
        <joint name="hip_z" axis="0 0 1" armature="0.02" damping="0.2" stiffness="2"/>
        <joint name="hip_y" axis="0 1 0" armature="0.03" damping="0.3" stiffness="1"/>
        <geom type="capsule" fromto="0 0 0 0 0.1 -0.4" size="0.05"/>
        <body name="shin" pos="0 0.1 -0.4">
          <joint name="knee_1" axis="0 1 0" armature="0.01" springref="10" stiffness="5"/>
          <joint name="knee_2" axis="1 0 0.5" pos="0 0 -0.05" armature="0.02" damping="0.1"/>
          <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.04"/>
        </body>
      </body>
      <body name="arm" pos="0 -0.1 0.4">
        <joint name="arm_1" axis="2 1 1" pos="0.01 0 0" armature="0.01"/>
        <joint name="arm_2" axis="0 -1 2" pos="0 0.02 0" armature="0.01" damping="0.1"/>
        <joint name="arm_3" axis="1 0 1" pos="0 0 0.03" armature="0.01"/>
        <joint name="arm_4" type="slide" axis="0 1 1" armature="0.05"/>
        <geom type="capsule" fromto="0 0 0 0 -0.3 0.1" size="0.04"/>
      </body>
      <body name="eye" pos="0.1 0 0.5">
        <joint name="eye_out" type="slide" axis="1 0.1 0" stiffness="10" springref="0.1"/>
        <joint name="eye_ball" type="ball" pos="0.01 0 0" damping="0.1" armature="0.001"/>
        <geom type="sphere" size="0.05" pos="0.02 0 0"/>
      </body>
    </body>
  </worldbody>
</mujoco>"""

DRIVEN = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="boom" pos="0 0 1" gravcomp="0.7">
      <joint name="luff" axis="0 1 0" damping="0.5" stiffness="4" springref="-0.4" ref="0.3"/>
      <geom type="capsule" fromto="0 0 0 0.5 0 0" size="0.05"/>
      <body name="trolley" pos="0.5 0 0" gravcomp="1">
        <joint name="ride" type="slide" axis="1 0 0" armature="0.3"/>
        <geom type="box" size="0.1 0.1 0.05"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="torque" joint="luff" gear="3"/>
    <position name="servo" joint="luff" kp="20" kv="2"/>
    <velocity name="brake" joint="ride" kv="5" gear="-2"/>
    <general name="mixed" joint="ride" gaintype="affine" gainprm="1 2 3" biastype="affine"
      biasprm="0.1 0.2 0.3" gear="0.5"/>
    <damper name="throttle" joint="luff" kv="3" ctrlrange="0 10"/>
  </actuator>
  <keyframe>
    <key name="up" qpos="1.2 0.1" qvel="0.1 0.2" ctrl="1 0 0 0 0"/>
  </keyframe>
</mujoco>"""

URDF = """
<robot name="crane">
  <link name="base"/>
  <link name="column">
    <inertial>
      <origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/><mass value="2"/>
      <inertia ixx="0.25" iyy="0.3" izz="0.2" ixy="0.01" ixz="0.02" iyz="0.03"/>
    </inertial>
  </link>
  <link name="jib">
    <inertial>
      <origin xyz="0.4 0 0"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.08" izz="0.08" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual><geometry><box size="0.8 0.1 0.1"/></geometry></visual>
  </link>
  <link name="hook">
    <inertial>
      <mass value="0.5"/><inertia ixx="1e-3" iyy="2e-3" izz="2e-3" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="slew" type="continuous">
    <parent link="base"/><child link="column"/><axis xyz="0 0 1"/>
    <dynamics damping="0.2" friction="0"/>
  </joint>
  <joint name="luff" type="revolute">
    <parent link="column"/><child link="jib"/><origin xyz="0 0 1" rpy="0.3 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/>
  </joint>
  <joint name="out" type="prismatic">
    <parent link="jib"/><child link="hook"/><origin xyz="0.2 0 0"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.6" effort="10" velocity="3"/>
  </joint>
</robot>"""

TREES = {"arm": ARM, "free": FREE, "chains": CHAINS, "driven": DRIVEN, "urdf": URDF}
"""Models without loops."""

FOUR_BAR = """
<mujoco>
  <option timestep="1e-3"/>
  <worldbody>
    <body name="crank">
      <joint name="drive" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02" density="3000"/>
      <body name="coupler" pos="0 0 0.2">
        <joint name="upper" axis="0 1 0"/>
        <geom type="capsule" fromto="0 0 0 0.5 0 0.2" size="0.02"/>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0">
      <joint name="pivot" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02"/>
    </body>
  </worldbody>
  <equality><connect name="pin" body1="coupler" body2="rocker" anchor="0.5 0 0.2"/></equality>
</mujoco>"""

WELDED = """
<mujoco>
  <worldbody>
    <body name="left">
      <joint name="left_hinge" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02"/>
      <body name="deck" pos="0 0 0.3">
        <joint name="left_top" axis="0 1 0"/>
        <geom type="box" size="0.2 0.1 0.01" pos="0.2 0 0"/>
        <site name="edge" pos="0.4 0 0"/>
      </body>
    </body>
    <body name="right" pos="0.4 0 0">
      <joint name="right_ball" type="ball"/>
      <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.02"/>
      <body name="cap" pos="0 0 0.3">
        <joint name="right_top" type="ball"/>
        <geom type="sphere" size="0.02"/>
        <site name="seat"/>
      </body>
    </body>
  </worldbody>
  <equality><weld name="glued" site1="edge" site2="seat"/></equality>
</mujoco>"""

GEARED = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <body name="wheel">
      <joint name="shaft" axis="0 1 0" armature="0.01"/>
      <geom type="cylinder" size="0.1 0.02" euler="1.5707963267948966 0 0" pos="0.03 0 0"/>
    </body>
    <body name="rack" pos="0 0 -0.5">
      <joint name="goes" type="slide" axis="1 0 0.5" stiffness="30"/>
      <geom type="box" size="0.2 0.02 0.02"/>
    </body>
    <body name="follower" pos="1 0 0">
      <joint name="cam" axis="1 0 0"/>
      <geom type="box" size="0.02 0.1 0.02" pos="0 0.05 0"/>
    </body>
  </worldbody>
  <equality>
    <joint name="mesh" joint1="goes" joint2="shaft" polycoef="0 0.1 0 0 0"/>
    <joint name="curve" joint1="cam" joint2="goes" polycoef="0 2 1 -0.5 0.3"/>
  </equality>
</mujoco>"""

WELDED_BAR = FOUR_BAR.replace(
    '<geom type="capsule" fromto="0 0 0 0.5 0 0.2" size="0.02"/>',
    """<geom type="capsule" fromto="0 0 0 0.5 0 0.2" size="0.02"/>
        <body name="cap" pos="0.5 0 0.2">
          <joint name="knuckle" axis="0 1 0"/>
          <geom type="sphere" size="0.03"/>
        </body>""",
).replace(
    '<connect name="pin" body1="coupler" body2="rocker" anchor="0.5 0 0.2"/>',
    '<weld name="pin" body1="cap" body2="rocker"/>',
)

LOOPS = {"four_bar": FOUR_BAR, "welded_bar": WELDED_BAR, "welded": WELDED, "geared": GEARED}
"""Models whose loops are closed by equalities."""
